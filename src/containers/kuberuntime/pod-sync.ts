import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { goQuote } from '../../go/go-quote.ts';
import { uidOf } from '../../kube/names.ts';
import { isRestartableInitContainer } from '../../kube/restart-policy.ts';
import type { Container } from '../../kube/types.ts';
import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import type { PodSandboxConfig } from '../../provider/cri-messages.ts';
import type { PodSyncResult, SyncPodRequest, SyncResult } from '../../provider/provider.ts';
import { computePodActions } from './actions/actions.ts';
import { type BackoffTable, crashBackoff, podText } from '../container/backoff.ts';
import { containerEvents } from './container-events.ts';
import type { ContainerRemover } from './gc/container-remover.ts';
import type { ContainerStarter, StartContext, StartSpec } from './container-starter.ts';
import { podIpsOf, runningPodOf, runtimeId, toSandboxStatus } from './config/convert.ts';
import type { ContainerType, StartCounts } from '../container/counts.ts';
import type { RuntimeFiles } from '../container/files.ts';
import type { RuntimeHelper } from './helper.ts';
import { type ImageVolumes, mountedImages, pullImageVolumes } from '../images/image-volumes.ts';
import type { ImageManager } from '../images/images.ts';
import { attempt, type ContainerKiller } from './kill.ts';
import { PodResize, type PodResizeDeps } from './resize/pod-resize.ts';
import { resizes } from './resize/resize-plan.ts';
import { aggregate, StartError } from '../container/runtime-errors.ts';
import type { StartTurns } from './start-turns.ts';
import { type ConfigSettings, generateSandboxConfig } from './config/sandbox-config.ts';
import type { ActionInputs, PodActions } from './actions/pod-actions.ts';

export interface PodSyncDeps extends PodResizeDeps {
  readonly runtime: Pick<ContainerRuntime, 'runPodSandbox' | 'podSandboxStatus'> & PodResizeDeps['runtime'];
  readonly turns: StartTurns;
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly files: RuntimeFiles;
  readonly backoff: BackoffTable;
  readonly inputs: Omit<ActionInputs, 'restartAllContainers'>;
  readonly images: ImageManager;
  readonly starter: ContainerStarter;
  readonly killer: ContainerKiller;
  readonly remover: ContainerRemover;
  readonly config: ConfigSettings;
  readonly clock: Pick<Clock, 'now'>;
  /** Metrics of starts; absent: not counted. */
  readonly counts?: StartCounts;
}

/** The sandbox in which containers start. */
interface Sandbox {
  readonly id: string;
  readonly podIps: readonly string[];
}

interface SyncContext extends StartContext {
  readonly imageVolumes: ImageVolumes;
}

type DesiredContainer = Omit<StartSpec, 'imageVolumes'>;

/**
 * PodSync performs one sync of one pod: computes the actions once, executes them in the kubelet's order and records each result.
 * Follows `SyncPod` (pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 */
export class PodSync {
  readonly #deps: PodSyncDeps;
  readonly #request: SyncPodRequest;
  readonly #actions: PodActions;
  readonly #signal: AbortSignal;
  readonly #results: SyncResult[] = [];
  #failure: string | undefined;
  #backOffUntil: number | undefined;

  constructor(deps: PodSyncDeps, request: SyncPodRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    const { restartAllContainers } = request;
    deps.actuated.adopt(request.pod, request.observed);
    this.#actions = computePodActions(request.pod, request.observed, {
      ...deps.inputs,
      restartAllContainers,
    });
  }

  async run(): Promise<PodSyncResult> {
    await this.#steps();
    return this.#result();
  }

  async #steps(): Promise<void> {
    const { createSandbox, sandboxId } = this.#actions;
    if (createSandbox && sandboxId !== '')
      this.#podEvent('Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
    if (!(await this.#stopWhatMustEnd())) return;
    await this.#pruneInitContainers();
    const sandbox = await this.#sandbox();
    if (!sandbox || !this.#hasMoreToDo()) return;
    const context = await this.#context(sandbox);
    if (context) await this.#startContainers(context);
  }

  /** Stops containers that must end. @returns false when one could not be stopped; nothing may be started then */
  async #stopWhatMustEnd(): Promise<boolean> {
    const { pod, observed } = this.#request;
    const { killer, runtimeName } = this.#deps;
    if (this.#actions.killPod) {
      const running = runningPodOf(pod, observed, runtimeName);
      const results = await killer.killPod(pod, running, undefined, this.#signal);
      this.#results.push(...results);
      if (results.some(({ reason }) => reason !== undefined)) return false;
      if (this.#actions.createSandbox) await this.#removeInitContainers(0);
      return true;
    }
    for (const request of this.#actions.containersToKill.values()) {
      const done = await attempt(
        { action: 'KillContainer', target: request.name },
        'KillContainerError',
        () => killer.killContainer(pod, request, this.#signal),
      );
      this.#results.push(done);
      if (done.reason !== undefined) return false;
    }
    return this.#resetContainers();
  }

  /**
   * Kills all instances without grace (KEP-5532), last the one that requested the restart; the next sync starts with the init containers.
   * Logs are kept, as the next instances are numbered after them (R183).
   *
   * @returns false when one could not be stopped or removed
   */
  async #resetContainers(): Promise<boolean> {
    const { killer, remover } = this.#deps;
    for (const { id, name, kill } of this.#actions.containersToReset) {
      const result: SyncResult = { action: 'RemoveContainer', target: name };
      const how = { message: 'killing', reason: '', graceSeconds: 0 } as const;
      const stop = async (): Promise<void> => {
        if (kill) await killer.killContainer(this.#request.pod, { id, name, ...how }, this.#signal);
      };
      const stopped = await attempt(result, 'KillContainerError', stop);
      const remove = (): Promise<void> => remover.removeWithoutLogs(runtimeId(id), this.#signal);
      const done =
        stopped.reason === undefined ? await attempt(result, 'RemoveContainerError', remove) : stopped;
      this.#results.push(done);
      if (done.reason !== undefined) return false;
    }
    return true;
  }

  /** Removes old instances of init containers, except the newest dead one, which shows that the container has run. */
  async #pruneInitContainers(): Promise<void> {
    await this.#removeInitContainers(1, ['exited', 'unknown']);
  }

  async #removeInitContainers(keep: number, states?: readonly string[]): Promise<void> {
    const { pod, observed } = this.#request;
    const byName = Map.groupBy(observed.containerStatuses, ({ name }) => name);
    for (const { name } of pod.spec?.initContainers ?? []) {
      const instances = (byName.get(name) ?? []).filter(({ state }) => states?.includes(state) ?? true);
      for (const { id } of instances.slice(keep))
        await this.#deps.remover.remove(runtimeId(id), this.#signal).catch((err: unknown) => {
          this.#deps.logger.error('init container could not be removed', {
            container: id,
            err: messageOf(err),
          });
        });
    }
  }

  /** Returns the sandbox to start in, creating it if needed; `undefined` when there is none. */
  async #sandbox(): Promise<Sandbox | undefined> {
    const { pod, observed } = this.#request;
    if (!this.#actions.createSandbox) return { id: this.#actions.sandboxId, podIps: observed.ips };
    const result: SyncResult = { action: 'CreatePodSandbox', target: podText(pod) };
    this.#deps.counts?.pod(pod);
    try {
      const id = await this.#createSandbox();
      this.#results.push(result);
      return await this.#inspectSandbox(id);
    } catch (reason) {
      if (!(reason instanceof SandboxError)) throw reason;
      this.#results.push(result);
      if (this.#deps.helper.isPodTerminationRequested(uidOf(pod))) return undefined; // R182
      this.#deps.counts?.podFailed(pod);
      this.#results.splice(-1, 1, { ...result, reason: 'CreatePodSandboxError', message: reason.message });
      this.#podEvent(
        'Warning',
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: ${messageOf(reason.cause)}`,
      );
      return undefined;
    }
  }

  /** Creates the sandbox. @throws {SandboxError} when that fails */
  async #createSandbox(): Promise<string> {
    const { pod } = this.#request;
    const { helper, files, runtime, turns } = this.#deps;
    const text = goQuote(podText(pod));
    const config = await orSandboxError(`Failed to generate sandbox config for pod ${text}`, () =>
      this.#sandboxConfig(),
    );
    await orSandboxError(`Failed to create log directory for pod ${text}`, () =>
      files.makeDirectory(config.logDirectory ?? ''),
    );
    return orSandboxError(`Failed to create sandbox for pod ${text}`, async () => {
      const runtimeHandler = (await helper.runtimeHandler?.(pod)) ?? '';
      const signal = this.#signal;
      const { podSandboxId } = await turns.run(
        'runPodSandbox',
        () => runtime.runPodSandbox({ config, runtimeHandler }, { signal }),
        signal,
      );
      if (!podSandboxId) throw new AgentError('internal', `PodSandboxId is not set for sandbox ${text}`);
      return podSandboxId;
    });
  }

  async #inspectSandbox(id: string): Promise<Sandbox | undefined> {
    const { pod, observed } = this.#request;
    try {
      const { status } = await this.#deps.runtime.podSandboxStatus(
        { podSandboxId: id },
        { signal: this.#signal },
      );
      if (!status) {
        this.#failure = 'pod sandbox status is nil'; // the kubelet records no event for this
        return undefined;
      }
      const hostNetwork = pod.spec?.hostNetwork === true;
      const podIps = hostNetwork ? observed.ips : podIpsOf(toSandboxStatus(status), false);
      this.#request.sandboxReady?.();
      return { id, podIps };
    } catch (reason) {
      const message = messageOf(reason);
      this.#podEvent('Warning', 'FailedPodSandBoxStatus', `Unable to get pod sandbox status: ${message}`);
      this.#failure = message;
      return undefined;
    }
  }

  #sandboxConfig(): Promise<PodSandboxConfig> {
    return generateSandboxConfig(
      this.#request.pod,
      this.#actions.attempt,
      this.#deps.helper,
      this.#deps.config,
    );
  }

  #hasMoreToDo(): boolean {
    const { initContainersToStart, containersToStart, ephemeralContainersToStart } = this.#actions;
    const lists = [initContainersToStart, containersToStart, ephemeralContainersToStart];
    return resizes(this.#actions) || lists.some(({ length }) => length > 0);
  }

  async #context({ id, podIps }: Sandbox): Promise<SyncContext | undefined> {
    const { pod, observed, pullSecrets } = this.#request;
    try {
      const sandboxConfig = await this.#sandboxConfig().catch((cause: unknown) => {
        const text = goQuote(podText(pod));
        const message = `GeneratePodSandboxConfig for pod ${text} failed: ${messageOf(cause)}`;
        throw new AgentError('internal', message, { cause });
      });
      const runtimeHandler = await this.#imageHandler();
      const imageVolumes = await pullImageVolumes(
        this.#deps.images,
        { pod, secrets: pullSecrets, sandboxConfig, runtimeHandler },
        this.#podEvent.bind(this),
        this.#signal,
      );
      const shared = { pod, observed, pullSecrets, podIps, runtimeHandler, imageVolumes };
      return { ...shared, sandboxId: id, sandboxConfig };
    } catch (reason) {
      this.#failure = messageOf(reason);
      return undefined;
    }
  }

  /** Returns the runtime handler for image pulls; set only with the feature gate, as in the kubelet. */
  async #imageHandler(): Promise<string> {
    const { helper, inputs } = this.#deps;
    if (inputs.features?.['RuntimeClassInImageCriApi'] !== true) return '';
    return (await helper.runtimeHandler?.(this.#request.pod)) ?? '';
  }

  /**
   * Starts ephemeral containers, then init containers in order, then applies resizes, then starts regular containers (R171, R172, R178).
   */
  async #startContainers(context: SyncContext): Promise<void> {
    const { ephemeralContainers = [], containers = [] } = context.pod.spec ?? {};
    const { initContainersToStart, containersToStart } = this.#actions;
    if (initContainersToStart.length + containersToStart.length > 0) await this.#podResize().makeRoom();
    for (const index of this.#actions.ephemeralContainersToStart) {
      const { targetContainerName, ...container } = at(ephemeralContainers, index);
      const target = targetContainerName === undefined ? {} : { targetName: targetContainerName };
      await this.#start(context, { container, ...target }, 'ephemeral_container');
    }
    if (!(await this.#startInit(context))) return;
    this.#countInitEnds(context);
    await this.#resize();
    for (const index of containersToStart)
      await this.#start(context, { container: at(containers, index) }, 'container');
  }

  /** @returns false when an init container failed to start that the others wait for */
  async #startInit(context: SyncContext): Promise<boolean> {
    for (const index of this.#actions.initContainersToStart) {
      const container = at(context.pod.spec?.initContainers ?? [], index);
      const started = await this.#start(context, { container }, 'init_container');
      if (isRestartableInitContainer(container)) continue;
      if (!started) return false;
      this.#deps.counts?.initStarted(context.pod);
    }
    return true;
  }

  #countInitEnds({ pod, observed }: SyncContext): void {
    const { counts } = this.#deps;
    if (!counts) return;
    const byName = Map.groupBy(observed.containerStatuses, ({ name }) => name);
    for (const container of pod.spec?.initContainers ?? [])
      if (!isRestartableInitContainer(container))
        for (const { state, finishedAt } of byName.get(container.name) ?? [])
          if (state === 'exited' && finishedAt) counts.initEnded(pod, finishedAt);
  }

  async #start(context: SyncContext, spec: DesiredContainer, type: ContainerType): Promise<boolean> {
    const { container } = spec;
    const { counts } = this.#deps;
    let counted = false;
    const result: SyncResult = { action: 'StartContainer', target: container.name };
    try {
      this.#checkBackoff(container);
      counts?.container(type);
      const note = containerEvents(this.#deps.recorder, context.pod, container);
      const imageVolumes = mountedImages(context.imageVolumes, container, note);
      counted = true;
      const started = this.#deps.starter.start(
        { ...context, hooksEnd: this.#request.podEnds ?? this.#signal },
        { ...spec, imageVolumes },
        this.#signal,
      );
      await (imageVolumes.size > 0 ? this.#countImages(container, imageVolumes, started) : started);
      this.#results.push(result);
      return true;
    } catch (cause) {
      const error =
        cause instanceof StartError
          ? cause
          : new StartError('RunContainerError', messageOf(cause), { cause });
      if (counted) counts?.containerFailed(type, error.reason, this.#request.pod);
      this.#results.push({ ...result, reason: error.reason, message: error.message });
      if (error.until !== undefined)
        this.#backOffUntil = Math.min(error.until, this.#backOffUntil ?? error.until);
      return false;
    }
  }

  /** Counts image mounts as the kubelet does: anything but a mount failure counts as mounted. */
  async #countImages(
    { volumeMounts = [] }: Container,
    images: ReadonlyMap<string, unknown>,
    started: Promise<unknown>,
  ): Promise<void> {
    const mounts = volumeMounts.filter(({ name }) => images.has(name)).length;
    const count = (outcome: 'mounted' | 'failed'): void =>
      this.#deps.counts?.imageVolumes({ requested: images.size, mounts, outcome });
    try {
      await started;
      count('mounted');
    } catch (reason) {
      count(isMountFailure(reason) ? 'failed' : 'mounted');
      throw reason;
    }
  }

  /** Checks the crash back-off. @throws {StartError} `CrashLoopBackOff` (R179) */
  #checkBackoff(container: Container): void {
    const { pod, observed } = this.#request;
    const wait = crashBackoff(pod, container, observed, this.#deps.backoff);
    if (!wait) return;
    const message = `Back-off restarting failed container ${container.name} in pod ${podText(pod)}`;
    containerEvents(this.#deps.recorder, pod, container)('Warning', 'BackOff', message);
    throw new StartError('CrashLoopBackOff', wait.message, { until: wait.until });
  }

  /** Applies new resources to the pod and to its running containers. */
  async #resize(): Promise<void> {
    if (!resizes(this.#actions)) return;
    const result: SyncResult = { action: 'ResizePodInPlace', target: podText(this.#request.pod) };
    const startedAt = steadyNow(this.#deps.clock);
    const done = await attempt(result, 'ResizePodInPlaceError', () => this.#podResize().run());
    this.#deps.counts?.resized(steadyNow(this.#deps.clock) - startedAt, done.reason === undefined);
    this.#results.push(done);
  }

  #podResize(): PodResize {
    return new PodResize(this.#deps, this.#request.pod, this.#actions, this.#signal);
  }

  #podEvent(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#deps.recorder.event(this.#request.pod, type, reason, message);
  }

  /** Returns the result of the sync with the kubelet's combined error message (`PodSyncResult.Error`). */
  #result(): PodSyncResult {
    const failures = this.#results
      .filter(({ reason }) => reason !== undefined)
      .map(
        ({ action, target, reason = '', message = '' }) =>
          `failed to ${goQuote(action)} for ${goQuote(target)} with ${reason}: ${goQuote(message)}`,
      );
    if (this.#failure !== undefined) failures.unshift(`failed to SyncPod: ${this.#failure}`);
    return {
      results: this.#results,
      changed: this.#results.some(({ reason }) => reason === undefined),
      ...(failures.length > 0 && { error: new AgentError('internal', aggregate(failures)) }),
      ...(this.#backOffUntil !== undefined && { backOffUntil: this.#backOffUntil }),
    };
  }
}

/** True when the runtime reports that an image volume cannot be mounted (CRI `ErrImageVolumeMountFailed`). */
const isMountFailure = (reason: unknown): boolean =>
  reason instanceof StartError &&
  reason.reason === 'CreateContainerError' &&
  reason.message.includes('ImageVolumeMountFailed');

/** A sandbox failure: `message` is for the result, `cause` for the event. */
class SandboxError extends AgentError {}

async function orSandboxError<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new SandboxError('internal', `${what}: ${messageOf(cause)}`, { cause });
  }
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new AgentError('internal', `the spec has no container ${index}`);
  return item;
}
