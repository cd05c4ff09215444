import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { resizeCompletedMessage, resizeErrorMessage } from '../allocation/resize-messages.ts';
import type { EventRecorder } from '../kube/events.ts';
import { isStaticPod, keyOf, uidOf } from '../kube/names.ts';
import type { Pod, PodStatus, Secret } from '../kube/types.ts';
import type { PodProvider, PodSyncResult, SyncPodRequest, SyncResult } from '../provider/provider.ts';
import type { PodRef } from '../provider/refs.ts';
import type { PodResolution } from '../provider/resolution.ts';
import type { RuntimePod, RuntimePodStatus } from '../provider/runtime-pod.ts';
import { replaceOrAppend } from '../status/condition-list.ts';
import { ownCondition } from '../status/conditions.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import type {
  PodStep,
  PodSyncer,
  SyncPodOutcome,
  SyncPodStep,
  SyncTerminatingPodStep,
} from '../podworkers/pod-syncer.ts';

/** The part of the status manager that the steps need. */
export interface StatusSink {
  getPodStatus(uid: string): PodStatus | undefined;
  setPodStatus(pod: Pod, status: PodStatus): void;
  terminatePod(pod: Pod): void;
}

/** The part of the probe manager that the steps need. */
export interface ProbeControl {
  addPod(pod: Pod): void;
  stopLivenessAndStartup(pod: Pod): void;
  removePod(pod: Pod): void;
}

/** The directories and volumes of pods. */
export interface PodVolumes {
  /** Creates the pod's directories and mounts all volumes of its spec. Throws an error that names what could not be mounted. */
  mount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Unmounts what the pod no longer needs; resolves when its volumes are gone from disk. */
  unmount(pod: Pod, signal: AbortSignal): Promise<void>;
}

/** Watches the secrets and config maps that pods reference. */
export interface ReferencedObjects {
  register(pod: Pod): void;
  unregister(pod: Pod): void;
}

/** The cgroups of pods, where the node has them. */
export interface PodCgroups {
  exists(pod: Pod): boolean;
  ensure(pod: Pod): Promise<void>;
  destroy(pod: Pod): Promise<void>;
}

/** The part of the resize conditions that the steps need. */
export interface ResizeProgress {
  setInProgress(
    uid: string,
    report: { readonly reason: string; readonly message: string; readonly observedGeneration: number },
  ): { readonly changed: boolean; readonly observedGeneration: number };
  clearInProgress(uid: string): { readonly cleared: boolean; readonly observedGeneration: number };
}

export interface SyncStepsDeps {
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly provider: PodProvider;
  readonly statuses: StatusSink;
  readonly probes: ProbeControl;
  readonly volumes: PodVolumes;
  readonly objects: ReferencedObjects;
  readonly cgroups: PodCgroups;
  readonly releaseUsers: (uid: string) => void;
  /** The clean-up of what a remote provider stores for pods that have ended; absent when it stores nothing. */
  readonly remains?: { remove(ref: PodRef, pod: Pod): Promise<void> };
  readonly reasons: { update(uid: string, results: readonly SyncResult[]): void };
  /** The resize conditions (`ResizeStatuses`). */
  readonly resizes: ResizeProgress;
  /** Generates the pod's status from its runtime status (R205…R228). */
  readonly generateStatus: (pod: Pod, observed: RuntimePodStatus, podIsTerminal: boolean) => PodStatus;
  readonly isTerminationRequested: (uid: string) => boolean;
  readonly networkError: () => string | undefined;
  readonly pullSecrets: (pod: Pod) => Promise<readonly Secret[]>;
  readonly resolution?: (pod: Pod) => PodResolution;
  /** Reconciles the mirror pod of a static pod (R241…R243). Never throws. */
  readonly reconcileMirror: (pod: Pod, mirror: Pod | undefined) => Promise<void>;
  /** Requests a relist of the pod from the PLEG (R153). @param inspect inspect it even when none of its containers started or ended */
  readonly requestRelist: (uid: string, inspect: boolean) => void;
  /** Makes the worker sync the pod again at once (R152). */
  readonly syncAgain: (uid: string) => void;
  /** Makes the next tick sync the pod, if it is desired then. */
  readonly syncSoon: (uid: string) => void;
}

/** SyncPodError is an error of a sync with the time at which another attempt makes sense. */
export class SyncPodError extends Error {
  override readonly name: string = 'SyncPodError';
  /** The earliest time for another attempt, ms since the epoch (R117). */
  readonly backOffUntil: number | undefined;

  constructor(cause: Error, backOffUntil: number | undefined) {
    super(cause.message, { cause });
    this.backOffUntil = backOffUntil;
  }
}

/**
 * SyncSteps executes the steps of a pod's lifecycle. Each step may be repeated until it succeeds.
 *
 * Follows kubelet `SyncPod`, `SyncTerminatingPod`, `SyncTerminatingRuntimePod`, `SyncTerminatedPod` (R138…R166).
 */
export class SyncSteps implements PodSyncer {
  readonly #deps: SyncStepsDeps;

  constructor(deps: SyncStepsDeps) {
    this.#deps = deps;
  }

  /** Brings the pod's containers to the state that its spec describes (R138…R154). */
  async syncPod(
    { pod, mirrorPod, runtimeStatus }: SyncPodStep,
    signal: AbortSignal,
  ): Promise<SyncPodOutcome> {
    const { statuses, generateStatus } = this.#deps;
    this.#reportResize(pod, runtimeStatus);
    const status = generateStatus(pod, runtimeStatus, false);
    const observed = withIps(runtimeStatus, status);
    statuses.setPodStatus(pod, status);
    if (isTerminalPhase(status.phase)) return { terminal: true };
    this.#requireNetwork(pod);
    await this.#prepare(pod, mirrorPod, observed, signal);
    const pullSecrets = await this.#deps.pullSecrets(pod);
    if (this.#deps.provider.probedBy !== 'provider') this.#deps.probes.addPod(pod);
    const restartAllContainers =
      status.conditions?.some((c) => c.type === 'AllContainersRestarting' && c.status === 'True') ?? false;
    // R150: a pull or a start in progress is not interrupted by a deletion
    const sandboxReady = (): void => {
      this.#reportSandbox(pod);
    };
    const resolution = this.#deps.resolution?.(withStatus(pod, status));
    const request = {
      pod,
      observed,
      pullSecrets,
      restartAllContainers,
      sandboxReady,
      podEnds: signal,
      ...(resolution && { resolution }),
    };
    const result = await this.#provided(request);
    this.#deps.reasons.update(uidOf(pod), result.results);
    return this.#outcome(pod, result);
  }

  /** Calls the provider and records its failure as an Event, unless the provider records the parts itself. */
  async #provided(request: SyncPodRequest): Promise<PodSyncResult> {
    const { provider } = this.#deps;
    const { pod } = request;
    const result = await this.#recorded(pod, 'error syncing pod', () =>
      provider.syncPod(request, new AbortController().signal),
    );
    const { error, results } = result;
    if (error && provider.recordsEvents !== true)
      if (isBackOff(results)) this.#deps.recorder.event(pod, 'Warning', 'BackOff', error.message);
      else this.#failedSync(pod, `error syncing pod: ${error.message}`);
    return result;
  }

  #failedSync(pod: Pod, message: string): void {
    this.#deps.recorder.event(pod, 'Warning', 'FailedSync', message);
  }

  async #recorded<T>(pod: Pod, what: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (reason) {
      this.#failedSync(pod, `${what}: ${messageOf(reason)}`);
      throw reason;
    }
  }

  /** Sets the resize conditions of the pod (R139). */
  #reportResize(pod: Pod, observed: RuntimePodStatus): void {
    const { provider, resizes, recorder } = this.#deps;
    const uid = uidOf(pod);
    if (provider.resizes?.inProgress(pod, observed)) {
      const observedGeneration = pod.metadata?.generation ?? 0;
      resizes.setInProgress(uid, { reason: '', message: '', observedGeneration });
      return;
    }
    const { cleared, observedGeneration } = resizes.clearInProgress(uid);
    if (cleared)
      recorder.event(pod, 'Normal', 'ResizeCompleted', resizeCompletedMessage(pod, observedGeneration));
  }

  /**
   * Sends the PodReadyToStartContainers condition before images are pulled, which may take long (R154). Follows kubelet
   * `OnPodSandboxReady`.
   */
  #reportSandbox(pod: Pod): void {
    const { statuses } = this.#deps;
    const status = statuses.getPodStatus(uidOf(pod)) ?? pod.status ?? {};
    const ready = ownCondition(pod, 'PodReadyToStartContainers', 'True');
    statuses.setPodStatus(pod, { ...status, conditions: replaceOrAppend(status.conditions ?? [], ready) });
  }

  #reportResizeErrors(pod: Pod, results: readonly SyncResult[]): void {
    const { resizes, recorder } = this.#deps;
    const generation = pod.metadata?.generation ?? 0;
    for (const { action, reason, message = '' } of results) {
      if (action !== 'ResizePodInPlace' || reason === undefined) continue;
      const report = { reason: 'Error', message, observedGeneration: generation };
      const { changed, observedGeneration } = resizes.setInProgress(uidOf(pod), report);
      if (changed)
        recorder.event(pod, 'Warning', 'ResizeError', resizeErrorMessage(pod, observedGeneration, message));
    }
  }

  /** Converts the provider's result into the outcome of the step (R151…R153). */
  #outcome(pod: Pod, result: PodSyncResult): SyncPodOutcome {
    const uid = uidOf(pod);
    const did = (action: SyncResult['action']): boolean =>
      result.results.some((one) => one.action === action);
    const reset = did('RemoveContainer');
    this.#reportResizeErrors(pod, result.results);
    const changed = result.error === undefined && result.changed;
    return {
      terminal: false,
      ...(result.error && { error: new SyncPodError(result.error, result.backOffUntil) }),
      // a relist that began before the end of the sync would be too old, and another one would follow
      postSync: () => {
        if (changed) this.#deps.requestRelist(uid, did('ResizePodInPlace'));
        if (reset) this.#deps.syncAgain(uid);
      },
    };
  }

  #requireNetwork(pod: Pod): void {
    const networkError = this.#deps.networkError();
    if (networkError === undefined || pod.spec?.hostNetwork === true) return;
    this.#deps.recorder.event(pod, 'Warning', 'NetworkNotReady', `network is not ready: ${networkError}`);
    throw new Error(`network is not ready: ${networkError}`);
  }

  /** Prepares what containers need before they start: cgroups, directories and volumes (R144…R147). */
  async #prepare(
    pod: Pod,
    mirror: Pod | undefined,
    observed: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { objects, provider, recorder, volumes } = this.#deps;
    if (!this.#deps.isTerminationRequested(uidOf(pod))) objects.register(pod);
    await this.#ensureCgroups(pod, observed);
    if (isStaticPod(pod)) await this.#deps.reconcileMirror(pod, mirror);
    if (provider.volumesBy === 'provider') return;
    try {
      await volumes.mount(pod, signal);
    } catch (reason) {
      // each failed volume has its own Event; a timeout gets none
      if (!signal.aborted && AgentError.from(reason).code !== 'deadline_exceeded')
        recorder.event(pod, 'Warning', 'FailedMount', messageOf(reason));
      throw reason;
    }
  }

  async #ensureCgroups(pod: Pod, observed: RuntimePodStatus): Promise<void> {
    const { cgroups, recorder, provider } = this.#deps;
    if (cgroups.exists(pod)) return;
    const running = observed.containerStatuses.some((c) => c.state === 'running');
    if (running) await provider.killPod(pod, runtimePodOf(observed), undefined, new AbortController().signal);
    if (running && pod.spec?.restartPolicy === 'Never') return;
    try {
      await cgroups.ensure(pod);
    } catch (reason) {
      recorder.event(
        pod,
        'Warning',
        'FailedCreatePodContainer',
        `unable to ensure pod container exists: ${messageOf(reason)}`,
      );
      throw new Error(
        `failed to ensure that the pod: ${uidOf(pod)} cgroups exist and are correctly applied: ${messageOf(reason)}`,
        { cause: reason },
      );
    }
  }

  /** Stops the pod's containers (R155…R158). `statusFn` is the one of the last kill (eviction, preemption, shutdown). */
  async syncTerminatingPod(step: SyncTerminatingPodStep): Promise<void> {
    const { pod, runtimeStatus, gracePeriodSeconds, statusFn } = step;
    const { statuses, probes, provider, generateStatus, logger } = this.#deps;
    const status = generateStatus(pod, runtimeStatus, false);
    statuses.setPodStatus(pod, statusFn ? statusFn(status) : status);
    probes.stopLivenessAndStartup(pod);
    await this.#kill(pod, runtimePodOf(runtimeStatus), gracePeriodSeconds);
    probes.removePod(pod);

    const look = (): Promise<RuntimePodStatus> => provider.getPodStatus(refOf(pod));
    const stopped = await (provider.recordsEvents === true
      ? look()
      : this.#recorded(pod, 'error determining status', look));
    const running = stopped.containerStatuses.filter((c) => c.state === 'running').map((c) => c.name);
    if (running.length > 0)
      throw new Error(
        `detected running containers after a successful KillPod, CRI violation: [${running.join(' ')}]`,
      );
    logger.debug('pod has stopped', { pod: keyOf(pod), uid: uidOf(pod) });
    const final = { ...stopped, ips: runtimeStatus.ips };
    statuses.setPodStatus(pod, generateStatus(pod, final, true));
  }

  /** Stops a pod that only the runtime knows (R159). */
  async syncTerminatingRuntimePod(running: RuntimePod): Promise<void> {
    await this.#kill(podOfRunning(running), running, 1);
    // for a rejected pod: the events of its containers' end arrived while this worker, which sends no status, had the pod
    this.#deps.syncSoon(running.uid);
  }

  async #kill(pod: Pod, running: RuntimePod, gracePeriodSeconds: number | undefined): Promise<void> {
    try {
      // R157: a shortened grace applies to the next attempt
      await this.#deps.provider.killPod(pod, running, gracePeriodSeconds, new AbortController().signal);
    } catch (reason) {
      const message = `error killing pod: ${messageOf(reason)}`;
      this.#deps.recorder.event(pod, 'Warning', 'FailedKillPod', message);
      throw reason;
    }
  }

  /** Releases what the pod holds on the node: volumes, cgroup and user IDs (R160). */
  async syncTerminatedPod({ pod, runtimeStatus }: PodStep, signal: AbortSignal): Promise<void> {
    const { statuses, volumes, objects, cgroups, releaseUsers, generateStatus, remains } = this.#deps;
    statuses.setPodStatus(pod, generateStatus(pod, runtimeStatus, true));
    await volumes.unmount(pod, signal);
    if (pod.metadata?.deletionTimestamp) await remains?.remove(refOf(pod), pod);
    objects.unregister(pod);
    await cgroups.destroy(pod);
    releaseUsers(uidOf(pod));
    statuses.terminatePod(pod);
  }
}

/** Adds the addresses of host-network pods, which are the node's and which only the status has (R140). */
function withIps(observed: RuntimePodStatus, status: PodStatus): RuntimePodStatus {
  if (status.podIPs && status.podIPs.length > 0)
    return { ...observed, ips: status.podIPs.map(({ ip }) => ip) };
  return status.podIP === undefined || status.podIP === '' ? observed : { ...observed, ips: [status.podIP] };
}

/** True when all failures are back-offs, which are no errors. */
const isBackOff = (results: readonly SyncResult[]): boolean => {
  const reasons = results.map(({ reason }) => reason).filter((reason) => reason !== undefined);
  return reasons.length > 0 && reasons.every((reason) => backOffs.has(reason));
};
const backOffs: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

/** The pod with its current status, so that containers can read its addresses. */
const withStatus = (pod: Pod, status: PodStatus): Pod => ({ ...pod, status });

const refOf = (pod: Pod): PodRef => ({
  uid: uidOf(pod),
  name: pod.metadata?.name ?? '',
  namespace: pod.metadata?.namespace ?? '',
});

/** Makes a Pod object for a pod that only the runtime knows; its containers have no hooks (kubelet `ToAPIPod`). */
const podOfRunning = ({ uid, name, namespace, containers }: RuntimePod): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { uid, name, namespace },
  spec: { containers: containers.map(({ name: container, image = '' }) => ({ name: container, image })) },
});

/** Extracts the running pod from a status: running containers and all sandboxes (kubelet `ConvertPodStatusToRunningPod`). */
export function runtimePodOf(status: RuntimePodStatus): RuntimePod {
  return {
    uid: status.uid,
    name: status.name,
    namespace: status.namespace,
    containers: status.containerStatuses
      .filter((c) => c.state === 'running')
      .map(({ id, name, state, image, imageId, hash }) => ({
        id,
        name,
        state,
        image,
        imageId,
        ...(hash !== undefined && { hash }),
      })),
    sandboxes: status.sandboxStatuses.map(({ id, state }) => ({
      id,
      name: '',
      state: state === 'SANDBOX_READY' ? 'running' : 'exited',
    })),
  };
}
