import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { Slots } from '../../base/slots.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Pod } from '../../kube/types.ts';
import type { ContainerRuntime, ImageService } from '../../provider/container-runtime.ts';
import { ContainerState } from '../../provider/cri-messages.ts';
import type { LogOptions, LogSink } from '../../provider/logs.ts';
import type { PodResizes, ProviderDeadlines, ProviderPowers, StreamUrls } from '../../provider/powers.ts';
import type { ContainerRef } from '../../provider/refs.ts';
import type { NodeProvider, PodProvider, PodSyncResult, SyncPodRequest } from '../../provider/provider.ts';
import type { RuntimePod, RuntimePodStatus } from '../../provider/runtime-pod.ts';
import type { PodUsage } from '../../provider/usage.ts';
import type { ProbeResults } from './actions/pod-actions.ts';
import { ActuatedStore } from './resize/actuated.ts';
import type { BackoffTable } from '../container/backoff.ts';
import { ContainerGc } from './gc/container-gc.ts';
import { ContainerRemover } from './gc/container-remover.ts';
import { ContainerStarter } from './container-starter.ts';
import { containersToDelete } from './gc/container-gc-decide.ts';
import type { HookCounts, PullCounts, StartCounts } from '../container/counts.ts';
import { runtimeId } from './config/convert.ts';
import { nodeFiles, type RuntimeFiles } from '../container/files.ts';
import type { RuntimeHelper } from './helper.ts';
import { HookRunner } from './hooks.ts';
import { ImageManager } from '../images/images.ts';
import { ContainerKiller } from './kill.ts';
import { tailLog } from '../logs/logs.ts';
import { readPodLog } from '../logs/read-pod-log.ts';
import { RuntimeObserver } from './observer.ts';
import { PodSync, type PodSyncDeps } from './pod-sync.ts';
import type { Keyring, PullRecords } from '../images/pull-credentials.ts';
import type { ResourceSettings } from './config/resources.ts';
import { StartTurns } from './start-turns.ts';
import type { SecuritySettings } from './config/security-profiles.ts';
import { aggregate } from '../container/runtime-errors.ts';
import { isResizeInProgress } from './actions/resize-actions.ts';
import { resizeFault } from './resize/resize-fault.ts';
import { streamUrls } from './stream-urls.ts';
import { podUsage } from './usage.ts';

type Powers = Pick<
  ProviderPowers,
  'exec' | 'attach' | 'portForward' | 'onPodEvent' | 'runtimeHealth' | 'admit'
>;

/** Dependencies of KubeRuntime. */
export interface KubeRuntimeDeps {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Back-off of container restarts: 10 s to 5 min (R179). */
  readonly crashBackoff: BackoffTable;
  /** Back-off of image pulls: 10 s to 5 min. */
  readonly imageBackoff: BackoffTable;
  readonly liveness: ProbeResults;
  readonly startup: ProbeResults;
  /** Powers of the runtime beyond CRI; they take precedence over those built on its CRI calls. */
  readonly powers?: Powers;
  /** Credentials for pulls; default: pulls are anonymous. */
  readonly keyring?: Keyring;
  /** Default: a present image may be used by every pod. */
  readonly pullRecords?: PullRecords;
  /** Takes a token of the `registryPullQPS` limit; default: no limit. */
  readonly mayPull?: () => boolean;
  /** Resources last applied by the runtime, as recorded by an earlier agent; default: an empty store. */
  readonly actuated?: ActuatedStore;
  /** Default: the machine's disk. */
  readonly files?: RuntimeFiles;
  /** Metrics; default: nothing is counted. */
  readonly counts?: StartCounts & PullCounts & HookCounts;
}

/** Settings, named as in the kubelet's configuration. */
export interface KubeRuntimeOptions extends ResourceSettings, SecuritySettings {
  /** The runtime's name from `version`; the type prefix of container IDs. */
  readonly runtimeName: string;
  /** Directory of the pods' log directories; the kubelet's is `/var/log/pods`. */
  readonly podLogsRoot: string;
  /** Directory of the links to container logs for log collectors, `/var/log/containers`; absent: no links. */
  readonly containerLogsRoot?: string;
  /** Maximum number of parallel pulls: 1 is the kubelet's `serializeImagePulls`; absent: no limit. */
  readonly maxParallelImagePulls?: number;
  /** Maximum number of parallel runtime calls that start pods ({@link StartTurns}); absent: no limit, as in the kubelet. */
  readonly maxParallelStarts?: number;
  /** Number of dead instances to keep per container while its pod lives, at least 1; default: 1. */
  readonly deadInstancesKept?: number;
  /** Kubernetes feature gates that differ from their default. */
  readonly features?: Readonly<Record<string, boolean>>;
}

function imageManagerOf(deps: KubeRuntimeDeps, options: KubeRuntimeOptions): ImageManager {
  return new ImageManager({
    ...deps,
    backoff: deps.imageBackoff,
    slots: new Slots(options.maxParallelImagePulls),
    keyring: deps.keyring ?? ((): [] => []),
    checksAccess: options.features?.['KubeletEnsureSecretPulledImages'] ?? true,
    ...(deps.pullRecords && { records: deps.pullRecords }),
  });
}

/**
 * KubeRuntime runs pods in a container runtime. Decisions are made in `actions.ts`; this class and its parts carry them out.
 * Follows `kubeGenericRuntimeManager` (pkg/kubelet/kuberuntime).
 */
export class KubeRuntime implements PodProvider, NodeProvider {
  readonly name: string;
  readonly recordsEvents = true;
  /** No limits: each runtime call has its own (`runtimeRequestTimeout`), and a pull may continue while it makes progress. */
  readonly deadlines: ProviderDeadlines = { syncPod: Infinity, killPod: Infinity, query: Infinity };
  readonly streamUrls?: StreamUrls;
  readonly exec?: NonNullable<ProviderPowers['exec']>;
  readonly attach?: NonNullable<ProviderPowers['attach']>;
  readonly portForward?: NonNullable<ProviderPowers['portForward']>;
  readonly checkpoint?: NonNullable<ProviderPowers['checkpoint']>;
  readonly onPodEvent?: NonNullable<ProviderPowers['onPodEvent']>;
  readonly runtimeHealth?: NonNullable<ProviderPowers['runtimeHealth']>;
  readonly admit?: NonNullable<ProviderPowers['admit']>;
  readonly resizes?: PodResizes;
  /** Resources last applied by the runtime. */
  readonly actuated: ActuatedStore;
  /** Pulls images; also for image volumes and manual pulls. */
  readonly imageManager: ImageManager;
  /** Removes dead containers with their logs. */
  readonly remover: ContainerRemover;
  /** Collects dead containers, sandboxes and log directories. */
  readonly containerGc: ContainerGc;
  readonly #runtime: ContainerRuntime;
  readonly #observer: RuntimeObserver;
  readonly #killer: ContainerKiller;
  readonly #sync: PodSyncDeps;
  readonly #deadInstancesKept: number;
  readonly #clock: Clock;

  constructor(deps: KubeRuntimeDeps, options: KubeRuntimeOptions) {
    const { runtime } = deps;
    const { runtimeName } = options;
    this.#deadInstancesKept = Math.max(1, options.deadInstancesKept ?? 1);
    const files = deps.files ?? nodeFiles;
    const actuated = deps.actuated ?? new ActuatedStore();
    this.actuated = actuated;
    this.name = runtimeName;
    this.#runtime = runtime;
    this.#clock = deps.clock;
    if (runtime.exec && !deps.powers?.exec)
      this.streamUrls = streamUrls(runtime, (uid) => this.#readySandbox(uid));
    const checkpointContainer = runtime.checkpointContainer?.bind(runtime);
    if (checkpointContainer)
      this.checkpoint = async ({ id }, location, timeout, signal) => {
        await checkpointContainer({ containerId: runtimeId(id), location, timeout }, { signal });
      };
    Object.assign(this, deps.powers);
    this.#observer = new RuntimeObserver({ ...deps, runtimeName, actuated, files, logTail: tailLog });
    const podIps = async (pod: Pod): Promise<readonly string[]> => (await this.#statusOf(pod)).ips;
    const hooks = new HookRunner({ ...deps, podIps });
    this.#killer = new ContainerKiller({ ...deps, hooks });
    this.remover = new ContainerRemover({ ...deps, ...options, files });
    this.containerGc = new ContainerGc({
      ...deps,
      ...options,
      files,
      actuated,
      killer: this.#killer,
      remover: this.remover,
    });
    this.imageManager = imageManagerOf(deps, options);
    const { imageManager: images, remover } = this;
    const turns = new StartTurns(deps.clock, options.maxParallelStarts);
    const shared = { ...deps, turns, runtimeName, files, actuated, images, killer: this.#killer, remover };
    const resources: ResourceSettings = options;
    if (runtime.updateContainerResources)
      this.resizes = {
        fault: (desired, allocated) => resizeFault(desired, allocated, options),
        inProgress: (pod, observed) => isResizeInProgress(pod, observed, actuated),
      };
    this.#sync = {
      ...shared,
      backoff: deps.crashBackoff,
      inputs: { liveness: deps.liveness, startup: deps.startup, actuated, features: options.features ?? {} },
      starter: new ContainerStarter({ ...shared, ...options, hooks, resources, security: options }),
      config: options,
      resources,
    };
  }

  syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    return new PodSync(this.#sync, request, signal).run();
  }

  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const containers = running.containers.filter(({ state }) => state === 'running');
    const results = await this.#killer.killPod(pod, { ...running, containers }, gracePeriodSeconds, signal);
    const failures = results.filter(({ reason }) => reason !== undefined);
    if (failures.length === 0) return;
    const texts = failures.map(
      ({ action, target, reason, message = '' }) =>
        `failed to "${action}" for "${target}" with ${reason ?? ''}: ${goQuote(message)}`,
    );
    throw new AgentError('internal', aggregate(texts));
  }

  listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    return this.#observer.listPods(signal && { signal });
  }

  listSome(uids: readonly string[], signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    return this.#observer.listSome(uids, signal && { signal });
  }

  getListedPodStatus(listed: RuntimePod, signal?: AbortSignal): Promise<RuntimePodStatus> {
    return this.#observer.getListedPodStatus(listed, signal && { signal });
  }

  getPodStatus(
    ref: { readonly uid: string; readonly name: string; readonly namespace: string },
    signal?: AbortSignal,
  ): Promise<RuntimePodStatus> {
    return this.#observer.getPodStatus(ref, signal && { signal });
  }

  /** Checks that the runtime is ready. @throws {AgentError} `unavailable` with each condition that is not met */
  async ping(signal: AbortSignal): Promise<void> {
    const { status } = await this.#runtime.status({}, { signal });
    const unmet = (status?.conditions ?? []).filter((condition) => condition.status !== true);
    if (unmet.length === 0) return;
    const texts = unmet.map(
      ({ type = '', reason = '', message = '' }) =>
        `container runtime condition ${type} is not met: reason:${reason} message:${message}`,
    );
    throw new AgentError('unavailable', texts.join('; '));
  }

  /**
   * Writes a container's log to the sink. @throws {AgentError} `not_found` when the runtime does not know the container or it has no log
   */
  async readLogs(
    container: ContainerRef,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    const containerId = runtimeId(container.id);
    const { status } = await this.#runtime.containerStatus({ containerId }, { signal });
    if (!status?.logPath) throw new AgentError('not_found', `container "${container.container}" has no log`);
    const clock = this.#clock;
    const isRunning = (): Promise<boolean> => this.#isRunning(containerId, signal);
    await readPodLog({ path: status.logPath, clock, isRunning }, options, sink, signal);
  }

  async #isRunning(containerId: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { status } = await this.#runtime.containerStatus({ containerId }, { signal });
      return status?.state === ContainerState.CONTAINER_RUNNING;
    } catch (reason) {
      if (AgentError.from(reason).code === 'not_found' || signal.aborted) return false;
      throw reason;
    }
  }

  async execSync(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }> {
    if (!this.#runtime.execSync)
      throw new AgentError('unimplemented', 'the runtime cannot run commands in containers');
    const request = {
      containerId: runtimeId(container.id),
      cmd: command,
      timeout: Math.ceil(timeoutMs / 1000),
    };
    const { exitCode = 0, stdout, stderr } = await this.#runtime.execSync(request);
    return { exitCode, stdout: Buffer.from(stdout ?? []), stderr: Buffer.from(stderr ?? []) };
  }

  listUsage(): Promise<readonly PodUsage[]> {
    return podUsage(this.#runtime, this.name);
  }

  /** Returns the ids of images that any container, running or dead, was created from or mounts; for image garbage collection. */
  async imagesInUse(): Promise<ReadonlySet<string>> {
    const used = new Set<string>();
    for (const { containers } of await this.listPods())
      for (const { id, imageId = '' } of containers) {
        used.add(imageId);
        for (const image of await this.#observer.mountedImages(runtimeId(id))) used.add(image);
      }
    return used;
  }

  /** Removes dead instances after a container exited (R42). @param id the runtime's own id; empty: of all containers */
  async deleteContainers(id: string, observed: RuntimePodStatus, keep: number): Promise<void> {
    const dead = containersToDelete(id, observed, keep).map((one) => runtimeId(one.id));
    for (const one of dead) await this.remover.remove(one);
  }

  /**
   * Removes dead containers of a pod (R42, R64). Those that cannot be removed are left to the next call.
   *
   * @param observed the pod's runtime status; absent: queried from the runtime
   */
  removeDeadContainers(podUid: string, all: boolean, observed?: RuntimePodStatus): void {
    void this.#removeDead(podUid, all, observed).catch((reason: unknown) => {
      this.#sync.logger.warn('dead containers could not be removed', { uid: podUid, err: messageOf(reason) });
    });
  }

  async #removeDead(uid: string, all: boolean, status: RuntimePodStatus | undefined): Promise<void> {
    const observed = status ?? (await this.getPodStatus({ uid, name: '', namespace: '' }));
    if (all) return this.deleteContainers('', observed, 0);
    const oneOfEach = new Map(observed.containerStatuses.map(({ name, id }) => [name, id]));
    for (const id of oneOfEach.values())
      await this.deleteContainers(runtimeId(id), observed, this.#deadInstancesKept);
  }

  /** Makes the runtime reopen a container's log after rotation. */
  async reopenLog(id: string): Promise<void> {
    await this.#runtime.reopenContainerLog?.({ containerId: runtimeId(id) });
  }

  #statusOf({ metadata }: Pod): Promise<RuntimePodStatus> {
    const { uid = '', name = '', namespace = '' } = metadata ?? {};
    return this.getPodStatus({ uid, name, namespace });
  }

  async #readySandbox(uid: string): Promise<string> {
    const { sandboxStatuses } = await this.getPodStatus({ uid, name: '', namespace: '' });
    const ready = sandboxStatuses.find(({ state }) => state === 'SANDBOX_READY');
    if (ready) return ready.id;
    throw new AgentError('not_found', `pod ${uid} has no sandbox that is ready`);
  }
}

/** Queries the runtime's name and version and creates the provider. @throws {AgentError} when the runtime does not answer */
export async function connectKubeRuntime(
  deps: KubeRuntimeDeps,
  options: Omit<KubeRuntimeOptions, 'runtimeName'>,
): Promise<KubeRuntime> {
  const { runtimeName = '' } = await deps.runtime.version({ version: '0.1.0' });
  return new KubeRuntime(deps, { ...options, runtimeName });
}
