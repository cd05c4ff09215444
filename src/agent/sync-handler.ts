import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import { isMirrorPod, keyOf, uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';

/** What admission says of a pod (kubelet `PodAdmitResult`). */
export interface Admission {
  readonly admit: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The desired pods, as the sync handler keeps them (R27…R34). */
export interface DesiredPods {
  addPod(pod: Pod): void;
  updatePod(pod: Pod): void;
  removePod(pod: Pod): void;
  getPods(): readonly Pod[];
  getPodByUID(uid: string): Pod | undefined;
  /** The pod, its mirror, and whether the one asked for was the mirror. */
  getPodAndMirrorPod(pod: Pod): {
    readonly pod: Pod | undefined;
    readonly mirror: Pod | undefined;
    readonly wasMirror: boolean;
  };
}

/** What the sync handler asks of a pod's worker. */
export interface WorkOrder {
  readonly type: 'create' | 'update' | 'sync' | 'kill';
  readonly pod: Pod;
  readonly mirrorPod?: Pod;
  /** ms since the epoch */
  readonly startTime?: number;
}

/** The workers' side of a config change. */
export interface WorkerOrders {
  updatePod(order: WorkOrder): void;
  isPodTerminationRequested(uid: string): boolean;
  isPodKnownTerminated(uid: string): boolean;
}

export interface SyncHandlerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly pods: DesiredPods;
  readonly workers: WorkerOrders;
  /** R129: the first denial counts. */
  readonly admit: (pod: Pod, otherPods: () => readonly Pod[]) => Admission | Promise<Admission>;
  readonly statuses: {
    setPodStatus(pod: Pod, status: PodStatus): void;
    getPodStatus(uid: string): PodStatus | undefined;
  };
  /** The QoS class of a pod's status. */
  readonly qosOf: (pod: Pod) => string;
  /** Are all sources of pods seen (R15)? Nothing is deleted before (R60). */
  readonly allSourcesReady: () => boolean;
  /** R63: does the Ready condition in the API differ from the one that this agent computes? */
  readonly needsReadinessReconcile: (pod: Pod) => boolean;
  /** R64: an evicted pod's dead containers go at once. */
  readonly removeDeadContainers: (pod: Pod) => void;
  /** The one who keeps per-pod records besides the manager forgets the pod (R59). */
  readonly forget: (pod: Pod) => void;
}

const isTerminal = (status: PodStatus | undefined): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/**
 * What the sync loop calls for each kind of change. Handlers decide and hand over; they never wait for containers, volumes or the network.
 *
 * Follows kubelet `SyncHandler` (R48…R66).
 */
export class PodSyncHandler {
  readonly #deps: SyncHandlerDeps;

  constructor(deps: SyncHandlerDeps) {
    this.#deps = deps;
  }

  /** R48…R55: oldest first, so that admission after a restart decides as before. */
  async handlePodAdditions(pods: readonly Pod[]): Promise<void> {
    const startTime = this.#deps.clock.now();
    for (const pod of oldestFirst(pods)) {
      this.#deps.pods.addPod(pod); // R49: before any decision
      if (isMirrorPod(pod)) {
        this.#forwardStatic(pod, startTime);
        continue;
      }
      if (!(await this.#admitted(pod))) continue;
      this.#order('create', pod, this.#deps.pods.getPodAndMirrorPod(pod).mirror, startTime);
    }
  }

  /** R51…R53. */
  async #admitted(pod: Pod): Promise<boolean> {
    const { workers } = this.#deps;
    const uid = uidOf(pod);
    if (workers.isPodTerminationRequested(uid) || isTerminal(pod.status)) return true;
    let active: readonly Pod[] | undefined;
    const others = (): readonly Pod[] =>
      (active ??= this.activePods().filter((other) => uidOf(other) !== uid));
    const { admit, reason, message } = await this.#deps.admit(pod, others);
    if (!admit) this.#reject(pod, reason, message);
    return admit;
  }

  /** R128. */
  #reject(pod: Pod, reason: string, message: string): void {
    const { logger, recorder, statuses, qosOf } = this.#deps;
    logger.warn('pod was rejected', { pod: keyOf(pod), uid: uidOf(pod), reason, detail: message });
    recorder.event(pod, 'Warning', reason, message);
    const status: PodStatus = {
      qosClass: qosOf(pod),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
      ...(pod.metadata?.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    };
    statuses.setPodStatus(pod, status);
  }

  /** R56: updates and graceful deletions; no admission. */
  handlePodUpdates(pods: readonly Pod[]): void {
    const startTime = this.#deps.clock.now();
    for (const pod of pods) {
      this.#deps.pods.updatePod(pod);
      const { mirror, wasMirror } = this.#deps.pods.getPodAndMirrorPod(pod);
      if (wasMirror) this.#forwardStatic(pod, startTime);
      else this.#order('update', pod, mirror, startTime);
    }
  }

  /** R59…R61. */
  handlePodRemoves(pods: readonly Pod[]): void {
    const startTime = this.#deps.clock.now();
    for (const pod of pods) {
      this.#deps.pods.removePod(pod);
      this.#deps.forget(pod);
      if (isMirrorPod(pod)) {
        this.#forwardStatic(pod, startTime); // so that the mirror is made again
      } else if (this.#deps.allSourcesReady()) {
        this.#order('kill', pod, undefined, undefined);
      } else {
        this.#deps.logger.info('not deleting a pod before all sources are ready', {
          pod: keyOf(pod),
          uid: uidOf(pod),
        });
      }
    }
  }

  /** R62…R65: only the status changed. */
  handlePodReconcile(pods: readonly Pod[]): void {
    const startTime = this.#deps.clock.now();
    for (const reconciled of pods) {
      this.#deps.pods.updatePod(reconciled); // the status manager compares against it
      const { pod, mirror, wasMirror } = this.#deps.pods.getPodAndMirrorPod(reconciled);
      if (wasMirror && !pod) continue;
      const target = pod ?? reconciled;
      if (this.#deps.needsReadinessReconcile(target)) this.#order('sync', target, mirror, startTime);
      if (target.status?.phase === 'Failed' && target.status.reason === 'Evicted')
        this.#deps.removeDeadContainers(target);
    }
  }

  /** R66. */
  handlePodSyncs(pods: readonly Pod[]): void {
    const startTime = this.#deps.clock.now();
    for (const candidate of pods) {
      const { pod, mirror, wasMirror } = this.#deps.pods.getPodAndMirrorPod(candidate);
      if (wasMirror) {
        this.#deps.logger.error('a mirror pod cannot be synced', {
          pod: keyOf(candidate),
          uid: uidOf(candidate),
        });
        continue;
      }
      this.#order('sync', pod ?? candidate, mirror, startTime);
    }
  }

  /** Syncs the pod of that UID, if it is desired; false when it is not. */
  handlePodSyncByUID(uid: string): boolean {
    const pod = this.#deps.pods.getPodByUID(uid);
    if (!pod) return false;
    this.handlePodSyncs([pod]);
    return true;
  }

  /** R121: what takes up room on the node: neither known to have ended nor refused. */
  activePods(): readonly Pod[] {
    return this.#deps.pods.getPods().filter((pod) => this.isActive(pod));
  }

  /** R121 for one pod. */
  isActive(pod: Pod): boolean {
    const { workers, statuses } = this.#deps;
    const uid = uidOf(pod);
    if (workers.isPodKnownTerminated(uid)) return false;
    if (workers.isPodTerminationRequested(uid)) return true;
    return !isTerminal(pod.status) && !isTerminal(statuses.getPodStatus(uid));
  }

  /** R50: a mirror's change concerns the static pod's worker. */
  #forwardStatic(mirror: Pod, startTime: number): void {
    const { pod, mirror: present } = this.#deps.pods.getPodAndMirrorPod(mirror);
    if (pod) this.#order('update', pod, present, startTime);
    else
      this.#deps.logger.debug('mirror pod without its static pod', {
        pod: keyOf(mirror),
        uid: uidOf(mirror),
      });
  }

  #order(type: WorkOrder['type'], pod: Pod, mirrorPod: Pod | undefined, startTime: number | undefined): void {
    this.#deps.workers.updatePod({
      type,
      pod,
      ...(mirrorPod && { mirrorPod }),
      ...(startTime !== undefined && { startTime }),
    });
  }
}

/** By creation time, oldest first; of equal age the order stays. */
function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  if (pods.length < 2) return pods;
  const createdAt = (pod: Pod): number => Date.parse(pod.metadata?.creationTimestamp ?? '') || 0;
  return pods.toSorted((a, b) => createdAt(a) - createdAt(b));
}
