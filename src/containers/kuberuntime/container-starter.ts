import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Container, Pod, Secret } from '../../kube/types.ts';
import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import type { ContainerConfig, ImageSpec, PodSandboxConfig } from '../../provider/cri-messages.ts';
import type { RuntimePodStatus } from '../../provider/runtime-pod.ts';
import type { ActuatedStore } from './resize/actuated.ts';
import { generateContainerConfig, terminationLogPath } from './config/container-config.ts';
import { containerEvents } from './container-events.ts';
import type { ContainerRemover } from './gc/container-remover.ts';
import { containerId, runtimeId } from './config/convert.ts';
import type { RuntimeFiles } from '../container/files.ts';
import { newestStatus } from './actions/find.ts';
import type { RuntimeHelper } from './helper.ts';
import type { HookRunner } from './hooks.ts';
import type { ImageManager, NoteEvent, PresentImage } from '../images/images.ts';
import type { ContainerKiller } from './kill.ts';
import {
  containerLogPath,
  containerLogsDirectory,
  legacyLogName,
  restartCountFromLogs,
} from '../paths/log-paths.ts';
import type { ResourceSettings } from './config/resources.ts';
import type { StartTurns } from './start-turns.ts';
import type { SecuritySettings } from './config/security-profiles.ts';
import { podUsersOf } from './config/user-namespace.ts';
import { descriptionOf, StartError } from '../container/runtime-errors.ts';

export interface ContainerStarterDeps {
  readonly runtime: Pick<ContainerRuntime, 'createContainer' | 'startContainer'>;
  readonly turns: StartTurns;
  readonly runtimeName: string;
  readonly images: ImageManager;
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly killer: ContainerKiller;
  readonly hooks: HookRunner;
  readonly remover: Pick<ContainerRemover, 'remove'>;
  readonly files: RuntimeFiles;
  readonly actuated: ActuatedStore;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly logger: Logger;
  readonly podLogsRoot: string;
  readonly resources: ResourceSettings;
  readonly security: SecuritySettings;
  readonly features?: Readonly<Record<string, boolean>>;
  /** Directory for the links that log collectors follow; absent: no links are created. */
  readonly containerLogsRoot?: string;
}

/** State shared by all containers of one sync. */
export interface StartContext {
  readonly pod: Pod;
  readonly observed: RuntimePodStatus;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly pullSecrets: readonly Secret[];
  readonly podIps: readonly string[];
  readonly runtimeHandler: string;
  /** Cancels hooks that still run. */
  readonly hooksEnd?: AbortSignal;
}

/** A container to start; `targetName` is set for an ephemeral container with a target. */
export interface StartSpec {
  readonly container: Container;
  /** Images to mount, by volume name. */
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
  readonly targetName?: string;
}

/**
 * ContainerStarter starts one container: image, configuration, create, start, postStart (R180). Follows `startContainer`
 * (pkg/kubelet/kuberuntime).
 */
export class ContainerStarter {
  readonly #deps: ContainerStarterDeps;
  /** Containers created earlier belong to a previous agent, ms since the epoch. */
  readonly #bornAt: number;

  constructor(deps: ContainerStarterDeps) {
    this.#deps = deps;
    this.#bornAt = deps.clock.now();
  }

  /** Starts a container. @throws {StartError} with the waiting reason of the container status (R181) */
  async start(context: StartContext, spec: StartSpec, signal?: AbortSignal): Promise<void> {
    const { pod } = context;
    const { container } = spec;
    const note = containerEvents(this.#deps.recorder, pod, container);
    const counting = this.#restartCount(context, container.name); // concurrently with the image
    const image = await this.#image(context, container, note, signal);
    const restartCount = await counting;
    const config = await this.#step(note, 'CreateContainerConfigError', () =>
      this.#config(context, spec, { image, restartCount }),
    );
    this.#deps.actuated.set(pod, container);
    const id = await this.#step(note, 'CreateContainerError', async () => {
      await this.#removeUnstarted(context, container, signal);
      return this.#createRecorded(context, config, signal);
    });
    const events: NoteEvent = (type, reason, message) => {
      note(type, reason, message.replaceAll(id, container.name));
    };
    events('Normal', 'Created', 'Container created');
    await this.#step(events, 'RunContainerError', async () => {
      const { runtime, turns } = this.#deps;
      const options = signal && { signal };
      await turns.run('startContainer', () => runtime.startContainer({ containerId: id }, options), signal);
    });
    events('Normal', 'Started', 'Container started');
    // Not awaited: a container that exits at once must be inspected while it runs.
    void this.#linkLog(context, container.name, { id, restartCount });
    await this.#postStart(pod, container, { id, note: events, signal: context.hooksEnd ?? signal });
  }

  async #image(
    { pod, pullSecrets, sandboxConfig, runtimeHandler }: StartContext,
    { image = '', imagePullPolicy }: Container,
    note: NoteEvent,
    signal: AbortSignal | undefined,
  ): Promise<PresentImage> {
    const request = {
      pod,
      image,
      policy: imagePullPolicy,
      secrets: pullSecrets,
      sandboxConfig,
      runtimeHandler,
    };
    try {
      return await this.#deps.images.ensureImageExists(request, note, signal);
    } catch (reason) {
      if (reason instanceof StartError) note('Warning', 'Failed', `Error: ${reason.reason}`);
      throw reason;
    }
  }

  /** Runs one step; records its failure as an event and converts it to a StartError with the waiting reason. */
  async #step<T>(note: NoteEvent, reason: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (cause) {
      const message = descriptionOf(cause);
      note('Warning', 'Failed', `Error: ${message}`);
      throw new StartError(reason, message, { cause });
    }
  }

  /** Returns the restart count (R183). Never rejects. */
  async #restartCount({ pod, observed }: StartContext, name: string): Promise<number> {
    const status = newestStatus(observed, name);
    if (status) return status.restartCount + 1;
    const { files, podLogsRoot, logger } = this.#deps;
    try {
      return restartCountFromLogs(await files.filesIn(containerLogsDirectory(podLogsRoot, pod, name)));
    } catch (err) {
      logger.warn('restart count could not be read from the log folder', {
        container: name,
        err: messageOf(err),
      });
      return 0;
    }
  }

  async #config(
    { pod, observed, podIps }: StartContext,
    { container, targetName, imageVolumes }: StartSpec,
    prepared: { image: PresentImage; restartCount: number },
  ): Promise<ContainerConfig> {
    const { helper, files, random, podLogsRoot, resources, security, images, features } = this.#deps;
    const target = targetId(observed, targetName);
    const options = await helper.generateRunContainerOptions(pod, container, podIps, imageVolumes);
    const imageUser = prepared.image.user ?? (await images.userOf(prepared.image.imageRef));
    const users = await podUsersOf(pod, helper);
    const { podContainerDir = '' } = options;
    const terminationLog =
      podContainerDir !== '' && (container.terminationMessagePath ?? '') !== ''
        ? terminationLogPath(podContainerDir, random.hex(4))
        : undefined;
    await Promise.all([
      files.makeDirectory(containerLogsDirectory(podLogsRoot, pod, container.name)),
      terminationLog !== undefined && files.makeFile(terminationLog, 0o666),
    ]);
    return generateContainerConfig(container, pod, {
      options,
      restartCount: prepared.restartCount,
      imageRef: prepared.image.imageRef,
      resources,
      security,
      ...(features && { features }),
      imageUser,
      extraSupplementalGroups: helper.extraSupplementalGroups(pod),
      users,
      ...(target !== undefined && { targetId: target }),
      ...(terminationLog !== undefined && { terminationLog }),
    });
  }

  /**
   * Removes instances that a previous agent created but did not start. The kubelet leaves them to garbage collection; there, such an
   * instance can hide how the container ended, and a pod that ran is reported as Pending. An instance that the runtime is starting after
   * all cannot be removed; then no second one is created.
   */
  async #removeUnstarted(
    { observed }: StartContext,
    { name }: Container,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (const status of observed.containerStatuses)
      if (status.name === name && status.state === 'created' && (status.createdAt ?? 0) < this.#bornAt)
        await this.#deps.remover.remove(runtimeId(status.id), signal);
  }

  /**
   * Creates the container while its resources are being recorded, as every running container must have a record. When recording fails, the
   * container is removed again.
   */
  async #createRecorded(
    context: StartContext,
    config: ContainerConfig,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { actuated, remover, logger } = this.#deps;
    const saving = actuated.save();
    saving.catch(() => undefined); // awaited below
    const id = await this.#create(context, config, signal);
    try {
      await saving;
    } catch (reason) {
      await remover.remove(id, signal).catch((err: unknown) => {
        logger.error('container whose resources could not be recorded was not removed', {
          err: messageOf(err),
        });
      });
      throw reason;
    }
    return id;
  }

  async #create(
    { sandboxId, sandboxConfig }: StartContext,
    config: ContainerConfig,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const request = { podSandboxId: sandboxId, config, sandboxConfig };
    const { runtime, turns } = this.#deps;
    const { containerId: id } = await turns.run(
      'createContainer',
      () => runtime.createContainer(request, signal && { signal }),
      signal,
    );
    if (id === undefined || id === '')
      throw new AgentError(
        'internal',
        `ContainerID is not set for container "${config.metadata?.name ?? ''}"`,
      );
    return id;
  }

  /** Links the log for log collectors; a failure does not fail the container. */
  async #linkLog(
    { pod, sandboxConfig }: StartContext,
    name: string,
    { id, restartCount }: { id: string; restartCount: number },
  ): Promise<void> {
    const { files, containerLogsRoot, logger } = this.#deps;
    if (containerLogsRoot === undefined) return;
    const link = join(containerLogsRoot, legacyLogName(id, name, pod));
    const target = join(sandboxConfig.logDirectory ?? '', containerLogPath(name, restartCount));
    try {
      if ((await files.filesIn(dirname(target))).length > 0) await files.link(target, link);
    } catch (err) {
      logger.warn('link to the container log could not be created', { link, err: messageOf(err) });
    }
  }

  async #postStart(
    pod: Pod,
    container: Container,
    { id, note, signal }: { id: string; note: NoteEvent; signal: AbortSignal | undefined },
  ): Promise<void> {
    const handler = container.lifecycle?.postStart;
    if (!handler) return;
    const target = { pod, container, id: containerId(this.#deps.runtimeName, id) };
    try {
      await this.#deps.hooks.run(target, handler, signal ?? new AbortController().signal);
    } catch (cause) {
      note('Warning', 'FailedPostStartHook', 'PostStartHook failed');
      // The pod is being terminated together with this container.
      if (signal?.aborted) throw new StartError('PostStartHookError', messageOf(cause), { cause });
      const message = 'FailedPostStartHook';
      await this.#deps.killer
        .killContainer(pod, { id: target.id, name: container.name, message, reason: message })
        .catch((err: unknown) => {
          this.#deps.logger.error('container could not be killed after its postStart hook failed', {
            err: messageOf(err),
          });
        });
      throw new StartError('PostStartHookError', messageOf(cause), { cause });
    }
  }
}

/** Returns the runtime's id of the target container of an ephemeral container. */
function targetId(observed: RuntimePodStatus, name: string | undefined): string | undefined {
  if (name === undefined || name === '') return undefined;
  const status = newestStatus(observed, name);
  if (status) return runtimeId(status.id);
  throw new AgentError('not_found', `unable to find target container ${name}`);
}
