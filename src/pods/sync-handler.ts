import { ownMember } from '../base/own.ts';
import type { ResizeTrigger } from '../allocation/allocation-manager.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import { isMirrorPod, keyOf, uidOf } from '../kube/names.ts';
import { compareQuantities, zeroQuantity } from '../kube/resources/quantity.ts';
import { podRequests } from '../kube/resources/resources.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { AdmitResult } from '../admission/admit-result.ts';
import type { UpdatePodOptions, UpdateType } from '../podworkers/updates.ts';

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

/** The workers' side of a config change. */
export interface WorkerOrders {
  updatePod(order: UpdatePodOptions): void;
  isPodTerminationRequested(uid: string): boolean;
  isPodKnownTerminated(uid: string): boolean;
}

/** Who gives pods their resources, as the sync handler needs it (`AllocationManager`). */
export interface PodAllocation {
  /** R129: the first denial counts. */
  addPod(pod: Pod): Promise<AdmitResult>;
  removePod(uid: string): void;
  /** Is another size asked for than the pod was given? */
  needsResize(pod: Pod): boolean;
  pushPendingResize(uid: string): void;
  readonly hasPendingResizes: boolean;
  retryPendingResizes(trigger: ResizeTrigger): Promise<void>;
}

/** What is told of resizes, as the sync handler needs it. */
export interface ResizeTelling {
  /** R55: what the API remembers stands until something newer is known. */
  backfill(pods: readonly Pod[]): void;
  clearPending(uid: string): void;
}

export interface SyncHandlerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly pods: DesiredPods;
  readonly workers: WorkerOrders;
  readonly allocation: PodAllocation;
  readonly resizes: ResizeTelling;
  readonly statuses: {
    setPodStatus(pod: Pod, status: PodStatus): void;
    getPodStatus(uid: string): PodStatus | undefined;
  };
  /** Measures how pods start; absent: nobody does. */
  readonly starts?: { observed(pod: Pod): void; forget(uid: string): void };
  /** Counts pods that were refused; absent: nobody does. */
  readonly rejected?: (reason: string) => void;
  /** Counts what is asked for in another size; absent: nobody does. */
  readonly resizeAsked?: (old: Pod, next: Pod) => void;
  /** The QoS class of a pod's status. */
  readonly qosOf: (pod: Pod) => string;
  /** Are all sources of pods seen (R15)? Nothing is deleted before (R60). */
  readonly allSourcesReady: () => boolean;
  /** R63: does the Ready condition in the API differ from the one that this agent computes? */
  readonly needsReadinessReconcile: (pod: Pod) => boolean;
  /** R64: an evicted pod's dead containers go at once. */
  readonly removeDeadContainers: (pod: Pod) => void;
}

/** R121: does the pod take up room on the node? */
export function isActivePod({ workers, statuses }: ActivityDeps, pod: Pod): boolean {
  const uid = uidOf(pod);
  if (workers.isPodKnownTerminated(uid)) return false;
  if (workers.isPodTerminationRequested(uid)) return true;
  return !isTerminalPhase(pod.status?.phase) && !isTerminalPhase(statuses.getPodStatus(uid)?.phase);
}

/** Who knows whether a pod has ended. */
export interface ActivityDeps {
  readonly workers: Pick<WorkerOrders, 'isPodTerminationRequested' | 'isPodKnownTerminated'>;
  readonly statuses: { getPodStatus(uid: string): PodStatus | undefined };
}

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
    this.#observed(pods);
    for (const pod of oldestFirst(pods)) {
      this.#deps.pods.addPod(pod); // R49: before any decision
      if (isMirrorPod(pod)) {
        this.#forwardStatic(pod, startTime);
        continue;
      }
      if (!(await this.#admitted(pod))) continue;
      this.#order('create', pod, this.#deps.pods.getPodAndMirrorPod(pod).mirror, startTime);
    }
    await this.#takeUpResizes(pods);
  }

  #observed(pods: readonly Pod[]): void {
    const { starts } = this.#deps;
    if (starts) for (const pod of pods) starts.observed(pod);
  }

  /** R55: what was asked for while no agent ran is tried now. */
  async #takeUpResizes(pods: readonly Pod[]): Promise<void> {
    const { allocation, resizes } = this.#deps;
    resizes.backfill(pods);
    const asking = pods.filter((pod) => !isMirrorPod(pod) && allocation.needsResize(pod));
    for (const pod of asking) allocation.pushPendingResize(uidOf(pod));
    if (asking.length > 0) await allocation.retryPendingResizes('pods_added');
  }

  /** R51…R53. */
  async #admitted(pod: Pod): Promise<boolean> {
    const { workers, allocation } = this.#deps;
    if (workers.isPodTerminationRequested(uidOf(pod)) || isTerminalPhase(pod.status?.phase)) return true;
    const { admit, reason, message } = await allocation.addPod(pod).catch((fault: unknown) => ({
      // without an answer the pod is refused: housekeeping starts what is wanted and was not
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message: `Admission failed due to ${messageOf(fault)}, which is unexpected`,
    }));
    if (!admit) {
      this.#reject(pod, reason, message);
      this.#deps.rejected?.(reason);
    }
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

  /** R56: updates and graceful deletions; admission only of another size. */
  async handlePodUpdates(pods: readonly Pod[]): Promise<void> {
    const startTime = this.#deps.clock.now();
    this.#observed(pods);
    for (const pod of pods) {
      const old = this.#deps.pods.getPodByUID(uidOf(pod));
      if (old) this.#deps.resizeAsked?.(old, pod);
      this.#deps.pods.updatePod(pod);
      const { mirror, wasMirror } = this.#deps.pods.getPodAndMirrorPod(pod);
      if (wasMirror) {
        this.#forwardStatic(pod, startTime);
        continue;
      }
      await this.#detectResize(pod);
      this.#order('update', pod, mirror, startTime);
    }
  }

  /** A resize that was taken back does not wait any more. */
  async #detectResize(pod: Pod): Promise<void> {
    const { allocation, resizes } = this.#deps;
    if (!allocation.needsResize(pod)) {
      resizes.clearPending(uidOf(pod));
      return;
    }
    allocation.pushPendingResize(uidOf(pod));
    await allocation.retryPendingResizes('pod_updated');
  }

  /** R59…R61. */
  async handlePodRemoves(pods: readonly Pod[]): Promise<void> {
    const startTime = this.#deps.clock.now();
    const { allocation } = this.#deps;
    for (const pod of pods) {
      this.#deps.starts?.forget(uidOf(pod));
      this.#deps.pods.removePod(pod);
      allocation.removePod(uidOf(pod));
      if (isMirrorPod(pod)) {
        this.#forwardStatic(pod, startTime);
      } else if (this.#deps.allSourcesReady()) {
        this.#order('kill', pod, undefined, undefined);
      } else {
        this.#deps.logger.info('not deleting a pod before all sources are ready', {
          pod: keyOf(pod),
          uid: uidOf(pod),
        });
      }
    }
    if (allocation.hasPendingResizes) await allocation.retryPendingResizes('pods_removed'); // room was made
  }

  /** R62…R65: only the status changed. */
  async handlePodReconcile(pods: readonly Pod[]): Promise<void> {
    const startTime = this.#deps.clock.now();
    const { allocation } = this.#deps;
    let room: ResizeTrigger | undefined;
    this.#observed(pods);
    for (const reconciled of pods) {
      if (allocation.hasPendingResizes)
        room ??= makesRoom(this.#deps.pods.getPodByUID(uidOf(reconciled)), reconciled);
      this.#deps.pods.updatePod(reconciled); // the status manager compares against it
      const { pod, mirror, wasMirror } = this.#deps.pods.getPodAndMirrorPod(reconciled);
      if (wasMirror && !pod) continue;
      const target = pod ?? reconciled;
      if (this.#deps.needsReadinessReconcile(target)) this.#order('sync', target, mirror, startTime);
      if (target.status?.phase === 'Failed' && target.status.reason === 'Evicted')
        this.#deps.removeDeadContainers(target);
    }
    if (room) await allocation.retryPendingResizes(room);
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
    return isActivePod(this.#deps, pod);
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

  #order(type: UpdateType, pod: Pod, mirrorPod: Pod | undefined, startTime: number | undefined): void {
    this.#deps.workers.updatePod({
      type,
      pod,
      ...(mirrorPod && { mirrorPod }),
      ...(startTime !== undefined && { startTime }),
    });
  }
}

/** R65: has the pod ended, or does it hold less CPU or memory than before? */
function makesRoom(before: Pod | undefined, after: Pod): ResizeTrigger | undefined {
  if (!before) return undefined;
  const [held, holds] = [before, after].map((pod) => podRequests(pod, { useStatusResources: true }));
  const shrank = ['cpu', 'memory'].some(
    (name) =>
      compareQuantities(ownMember(holds, name) ?? zeroQuantity, ownMember(held, name) ?? zeroQuantity) < 0,
  );
  if (shrank) return 'pod_resized';
  return isTerminalPhase(after.status?.phase) && !isTerminalPhase(before.status?.phase)
    ? 'pod_terminated'
    : undefined;
}

/** By creation time, oldest first; of equal age the order stays. */
function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  if (pods.length < 2) return pods;
  const createdAt = (pod: Pod): number => Date.parse(pod.metadata?.creationTimestamp ?? '') || 0;
  return pods.toSorted((a, b) => createdAt(a) - createdAt(b));
}
