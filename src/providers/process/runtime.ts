import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import { Emitter } from '../../base/emitter.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { CallOptions, ContainerRuntime, ImageService } from '../../provider/container-runtime.ts';
import { ContainerEventType } from '../../provider/cri-messages.ts';
import type * as cri from '../../provider/cri-messages.ts';
import { ContainerStore } from './container-store.ts';
import {
  hasLabels,
  matchesContainer,
  matchesSandbox,
  toContainer,
  toContainerStatus,
  toSandbox,
  toSandboxStatus,
} from './convert.ts';
import { eventStream, type ProcessEvents } from './event-stream.ts';
import { execCollect, type ExecPlan } from '../../processes/exec.ts';
import { inspectHost, type Host } from './host.ts';
import { HostLauncher } from './host-launcher.ts';
import { HostImageService } from './image-service.ts';
import { imageTable, type HostImage } from './images.ts';
import type { Launcher } from './launcher.ts';
import type { ContainerChange, ProcessContainer } from './process-container.ts';
import { SandboxStore } from './sandbox-store.ts';
import { defaultShell, type ProcessSettings } from './settings.ts';
import { signalNumber } from '../../processes/signals.ts';
import { sandboxStats, StatsReader } from './stats.ts';

/** Dependencies of the process runtime. */
export interface ProcessRuntimeDeps {
  readonly settings: ProcessSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What containers run in, and the images for it; default: the host's file system, and its programs by name. */
  readonly rooted?: { readonly launcher: Launcher; readonly images: ImageService };
}

const eventTypes: Readonly<Record<ContainerChange, ContainerEventType>> = {
  started: ContainerEventType.CONTAINER_STARTED_EVENT,
  stopped: ContainerEventType.CONTAINER_STOPPED_EVENT,
};

/**
 * ProcessRuntime runs containers as local processes: each one a session and process group under a small supervisor, which keeps the
 * process, its output and its exit code while no agent runs. Nothing is isolated unless its {@link Launcher} does: see docs/providers.md.
 *
 * Call {@link ProcessRuntime.open} first; it takes over what an earlier agent left.
 */
export class ProcessRuntime implements ContainerRuntime, ImageService {
  readonly events: Emitter<ProcessEvents> = new Emitter<ProcessEvents>();
  readonly images: ReadonlyMap<string, HostImage>;
  readonly host: Host;
  readonly clock: Clock;
  readonly #deps: ProcessRuntimeDeps;
  readonly #sandboxes: SandboxStore;
  readonly #containers: ContainerStore;
  readonly #launcher: Launcher;
  readonly #imageService: ImageService;
  readonly #stats: StatsReader;

  /** @throws {AgentError} `failed_precondition` when a required program is missing */
  constructor(deps: ProcessRuntimeDeps) {
    const { settings, clock } = deps;
    this.#deps = deps;
    this.host = inspectHost();
    this.clock = clock;
    this.images = imageTable(settings.nodePath ?? process.execPath, settings.images);
    this.#launcher =
      deps.rooted?.launcher ?? new HostLauncher({ settings, host: this.host, images: this.images });
    this.#sandboxes = new SandboxStore({
      ...deps,
      dir: join(settings.dataDir, 'sandboxes'),
      bootId: this.host.bootId,
    });
    this.#containers = new ContainerStore({
      ...deps,
      dir: join(settings.dataDir, 'containers'),
      host: this.host,
      launcher: this.#launcher,
      onChange: (container, change) => {
        this.#tell(container, eventTypes[change]);
      },
    });
    this.#imageService =
      deps.rooted?.images ??
      new HostImageService({
        table: this.images,
        dataDir: settings.dataDir,
        clock,
        uid: this.host.uid,
      });
    this.#stats = new StatsReader(() => clock.now());
  }

  /** Loads the records from disk and takes over running containers. */
  async open(): Promise<void> {
    this.#sandboxes.load();
    await this.#containers.load();
  }

  /** Closes everything; the processes keep running and are found again by the next {@link ProcessRuntime.open}. */
  close(): void {
    this.#containers.close();
  }

  async version(): Promise<cri.VersionResponse> {
    const { name } = this.#launcher;
    return { version: '0.1.0', runtimeName: name, runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' };
  }

  async status(): Promise<cri.StatusResponse> {
    const ready = (type: string): cri.RuntimeCondition => ({ type, status: true, reason: '', message: '' });
    return { status: { conditions: [ready('RuntimeReady'), ready('NetworkReady')] }, runtimeHandlers: [] };
  }

  async runPodSandbox(request: cri.RunPodSandboxRequest): Promise<cri.RunPodSandboxResponse> {
    return { podSandboxId: this.#sandboxes.create(request).id };
  }

  async stopPodSandbox(
    request: cri.StopPodSandboxRequest,
    options?: CallOptions,
  ): Promise<cri.StopPodSandboxResponse> {
    const sandbox = this.#sandboxes.find(request.podSandboxId);
    if (!sandbox) return {};
    await Promise.all(this.#containers.of(sandbox.id).map((each) => this.#stop(each, 0, options)));
    this.#sandboxes.stop(sandbox.id);
    return {};
  }

  async removePodSandbox(
    request: cri.RemovePodSandboxRequest,
    options?: CallOptions,
  ): Promise<cri.RemovePodSandboxResponse> {
    const sandbox = this.#sandboxes.find(request.podSandboxId);
    if (!sandbox) return {};
    await this.stopPodSandbox({ podSandboxId: sandbox.id }, options);
    for (const container of this.#containers.of(sandbox.id)) await this.#remove(container);
    this.#sandboxes.remove(sandbox.id);
    return {};
  }

  async podSandboxStatus(request: cri.PodSandboxStatusRequest): Promise<cri.PodSandboxStatusResponse> {
    const sandbox = this.#sandboxes.get(request.podSandboxId);
    const { hostIp } = this.#deps.settings;
    return { status: toSandboxStatus(sandbox, this.host.bootId, hostIp), info: {} };
  }

  async listPodSandbox(request: cri.ListPodSandboxRequest): Promise<cri.ListPodSandboxResponse> {
    const items = this.#sandboxes.all().map((record) => toSandbox(record, this.host.bootId));
    return { items: items.filter((item) => matchesSandbox(item, request.filter)) };
  }

  /** Creates a container. @throws {AgentError} `not_found` without its sandbox; `invalid_argument` without a command */
  async createContainer(request: cri.CreateContainerRequest): Promise<cri.CreateContainerResponse> {
    const sandbox = this.#sandboxes.get(request.podSandboxId);
    const container = this.#containers.create(sandbox, request.config ?? {});
    this.#tell(container, ContainerEventType.CONTAINER_CREATED_EVENT);
    return { containerId: container.record.id };
  }

  /**
   * Starts a container. @throws {AgentError} `internal` with runc's message when the program cannot be started; the container has exited
   * with code 128 then
   */
  async startContainer(
    request: cri.StartContainerRequest,
    options?: CallOptions,
  ): Promise<cri.StartContainerResponse> {
    const container = this.#containers.get(request.containerId);
    const sandbox = this.#sandboxes.get(container.record.sandboxId);
    await this.#containers.start(container, sandbox.config, options?.signal);
    return {};
  }

  async stopContainer(
    request: cri.StopContainerRequest,
    options?: CallOptions,
  ): Promise<cri.StopContainerResponse> {
    const container = this.#containers.find(request.containerId);
    if (container) await this.#stop(container, (request.timeout ?? 0) * 1000, options);
    return {};
  }

  async removeContainer(
    request: cri.RemoveContainerRequest,
    options?: CallOptions,
  ): Promise<cri.RemoveContainerResponse> {
    const container = this.#containers.find(request.containerId);
    if (!container) return {};
    await this.#stop(container, 0, options);
    await this.#remove(container);
    return {};
  }

  async listContainers(request: cri.ListContainersRequest): Promise<cri.ListContainersResponse> {
    await this.#containers.check();
    const all = this.#containers.all().map(toContainer);
    return { containers: all.filter((each) => matchesContainer(each, request.filter)) };
  }

  async containerStatus(request: cri.ContainerStatusRequest): Promise<cri.ContainerStatusResponse> {
    const container = this.#containers.get(request.containerId);
    const info = request.verbose && container.pid !== undefined ? { pid: String(container.pid) } : {};
    return { status: toContainerStatus(container, this.host.uid, this.host.gid), info };
  }

  async reopenContainerLog(request: cri.ReopenContainerLogRequest): Promise<cri.ReopenContainerLogResponse> {
    await this.#containers.get(request.containerId).reopenLog();
    return {};
  }

  /** Runs a command in a container. @throws {AgentError} `deadline_exceeded` when the command was killed at its timeout */
  async execSync(
    request: cri.ExecSyncRequest,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<cri.ExecSyncResponse> {
    const plan = this.execPlan(request.containerId ?? '', request.cmd ?? []);
    return execCollect(plan, (request.timeout ?? 0) * 1000, this.#deps.clock, signal);
  }

  /**
   * Returns how to run a command in a running container.
   *
   * @throws {AgentError} `not_found`, or `failed_precondition` when the container is not running
   */
  execPlan(containerId: string, argv: readonly string[]): ExecPlan {
    const container = this.#containers.get(containerId);
    if (container.state !== 'running') {
      throw new AgentError(
        'failed_precondition',
        `container ${containerId} is not running: ${container.state}`,
      );
    }
    const sandbox = this.#sandboxes.get(container.record.sandboxId);
    const { settings } = this.#deps;
    const { tools } = this.host;
    return {
      ...this.#containers.exec(container, sandbox.config, argv),
      tools,
      scratch: container.dir,
      shell: settings.shell ?? defaultShell,
    };
  }

  /** Returns a container. @throws {AgentError} `not_found` */
  container(id: string): ProcessContainer {
    return this.#containers.get(id);
  }

  /** Returns the ids of the images that containers were created from. */
  imagesInUse(): ReadonlySet<string> {
    return new Set(this.#containers.all().flatMap(({ record }) => record.image?.id ?? []));
  }

  async containerStats(request: cri.ContainerStatsRequest): Promise<cri.ContainerStatsResponse> {
    const [stats] = this.#stats.read([this.#containers.get(request.containerId)]);
    return stats ? { stats } : {};
  }

  async listContainerStats(request: cri.ListContainerStatsRequest): Promise<cri.ListContainerStatsResponse> {
    const { filter } = request;
    const selected = this.#containers
      .all()
      .filter((container) => matchesContainer(toContainer(container), filter));
    return { stats: this.#stats.read(selected) };
  }

  async podSandboxStats(request: cri.PodSandboxStatsRequest): Promise<cri.PodSandboxStatsResponse> {
    const sandbox = this.#sandboxes.get(request.podSandboxId);
    return { stats: sandboxStats(sandbox, this.#stats.read(this.#containers.of(sandbox.id))) };
  }

  async listPodSandboxStats(
    request: cri.ListPodSandboxStatsRequest,
  ): Promise<cri.ListPodSandboxStatsResponse> {
    const all = this.#stats.read(this.#containers.all());
    const sandboxOf = new Map(this.#containers.all().map(({ record }) => [record.id, record.sandboxId]));
    const selected = this.#sandboxes
      .all()
      .filter(
        ({ id, config }) =>
          (request.filter?.id ?? id) === id && hasLabels(config.labels, request.filter?.labelSelector),
      );
    return {
      stats: selected.map((record) =>
        sandboxStats(
          record,
          all.filter(({ attributes }) => sandboxOf.get(attributes?.id ?? '') === record.id),
        ),
      ),
    };
  }

  /** Yields every later change of a container until the signal aborts. */
  getContainerEvents(
    _request: cri.GetEventsRequest,
    options?: CallOptions,
  ): AsyncIterable<cri.ContainerEventResponse> {
    return eventStream(this.events, options?.signal);
  }

  listImages(request: cri.ListImagesRequest): Promise<cri.ListImagesResponse> {
    return this.#imageService.listImages(request);
  }

  imageStatus(request: cri.ImageStatusRequest): Promise<cri.ImageStatusResponse> {
    return this.#imageService.imageStatus(request);
  }

  pullImage(request: cri.PullImageRequest, options?: CallOptions): Promise<cri.PullImageResponse> {
    return this.#imageService.pullImage(request, options);
  }

  removeImage(request: cri.RemoveImageRequest): Promise<cri.RemoveImageResponse> {
    return this.#imageService.removeImage(request);
  }

  imageFsInfo(request: cri.ImageFsInfoRequest = {}): Promise<cri.ImageFsInfoResponse> {
    return this.#imageService.imageFsInfo(request);
  }

  async #stop(container: ProcessContainer, timeoutMs: number, options?: CallOptions): Promise<void> {
    const { config, image } = container.record;
    const signal = signalNumber(image?.stopSignal ?? config.stopSignal);
    await container.stop(signal, timeoutMs, options?.signal);
  }

  async #remove(container: ProcessContainer): Promise<void> {
    this.#containers.remove(container);
    this.#stats.forget(container.record.id);
    this.#tell(container, ContainerEventType.CONTAINER_DELETED_EVENT);
    try {
      await this.#launcher.release?.(container.dir);
      await removeTree(container.dir);
    } catch (cause) {
      this.#deps.logger.warn('container directory was not removed', {
        dir: container.dir,
        err: messageOf(cause),
      });
    }
  }

  #tell(container: ProcessContainer, type: ContainerEventType): void {
    const { id, sandboxId } = container.record;
    const sandbox = this.#sandboxes.find(sandboxId);
    const all = this.#containers.of(sandboxId);
    this.events.emit('change', sandbox?.config.metadata?.uid ?? '', {
      containerId: id,
      containerEventType: type,
      createdAt: this.#deps.clock.now() * 1e6,
      ...(sandbox && {
        podSandboxStatus: toSandboxStatus(sandbox, this.host.bootId, this.#deps.settings.hostIp),
      }),
      containersStatuses: all.map((each) => toContainerStatus(each, this.host.uid, this.host.gid)),
    });
  }
}
