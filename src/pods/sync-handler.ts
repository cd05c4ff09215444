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

/** The part of the pod manager that the sync handler needs (R27…R34). */
export interface DesiredPods {
  addPod(pod: Pod): void;
  updatePod(pod: Pod): void;
  removePod(pod: Pod): void;
  getPods(): readonly Pod[];
  getPodByUID(uid: string): Pod | undefined;
  /** The pod, its mirror pod, and whether the passed object is the mirror pod. */
  getPodAndMirrorPod(pod: Pod): {
    readonly pod: Pod | undefined;
    readonly mirror: Pod | undefined;
    readonly wasMirror: boolean;
  };
}

/** The part of the pod workers that the sync handler needs. */
export interface WorkerOrders {
  updatePod(order: UpdatePodOptions): void;
  isPodTerminationRequested(uid: string): boolean;
  isPodKnownTerminated(uid: string): boolean;
}

/** The part of the allocation manager that the sync handler needs. */
export interface PodAllocation {
  /** Admits a pod; the first denial of the admission chain counts (R129). */
  addPod(pod: Pod): Promise<AdmitResult>;
  removePod(uid: string): void;
  /** True when the pod's spec requests other resources than are allocated to it. */
  needsResize(pod: Pod): boolean;
  pushPendingResize(uid: string): void;
  readonly hasPendingResizes: boolean;
  retryPendingResizes(trigger: ResizeTrigger): Promise<void>;
}

/** The part of the resize conditions that the sync handler needs. */
export interface ResizeTelling {
  /** Takes over the resize conditions in the API, until newer ones are set (R55). */
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
  /** Measures the starts of pods, for metrics. */
  readonly starts?: { observed(pod: Pod): void; forget(uid: string): void };
  /** Counts rejected pods, for metrics. */
  readonly rejected?: (reason: string) => void;
  /** Counts requested resizes, for metrics. */
  readonly resizeRequested?: (old: Pod, next: Pod) => void;
  /** The QoS class for a pod's status. */
  readonly qosOf: (pod: Pod) => string;
  /** True once all pod sources were seen (R15). No pod is deleted before (R60). */
  readonly allSourcesReady: () => boolean;
  /** True when the Ready condition in the API differs from the one that this agent computes (R63). */
  readonly needsReadinessReconcile: (pod: Pod) => boolean;
  /** Removes the dead containers of an evicted pod at once (R64). */
  readonly removeDeadContainers: (pod: Pod) => void;
}

/** True while the pod uses resources of the node (R121). */
export function isActivePod({ workers, statuses }: ActivityDeps, pod: Pod): boolean {
  const uid = uidOf(pod);
  if (workers.isPodKnownTerminated(uid)) return false;
  if (workers.isPodTerminationRequested(uid)) return true;
  return !isTerminalPhase(pod.status?.phase) && !isTerminalPhase(statuses.getPodStatus(uid)?.phase);
}

/** The dependencies of {@link isActivePod}. */
export interface ActivityDeps {
  readonly workers: Pick<WorkerOrders, 'isPodTerminationRequested' | 'isPodKnownTerminated'>;
  readonly statuses: { getPodStatus(uid: string): PodStatus | undefined };
}

/**
 * PodSyncHandler handles each kind of change for the sync loop. Handlers decide and hand over to the workers; they never wait for
 * containers, volumes or the network.
 *
 * Follows kubelet `SyncHandler` (R48…R66).
 */
export class PodSyncHandler {
  readonly #deps: SyncHandlerDeps;

  constructor(deps: SyncHandlerDeps) {
    this.#deps = deps;
  }

  /** Handles added pods, oldest first, so that admission after a restart makes the same decisions (R48…R55). */
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

  /** Tries the resizes that were requested while no agent ran (R55). */
  async #takeUpResizes(pods: readonly Pod[]): Promise<void> {
    const { allocation, resizes } = this.#deps;
    resizes.backfill(pods);
    const asking = pods.filter((pod) => !isMirrorPod(pod) && allocation.needsResize(pod));
    for (const pod of asking) allocation.pushPendingResize(uidOf(pod));
    if (asking.length > 0) await allocation.retryPendingResizes('pods_added');
  }

  /** Runs the admission of an added pod; returns whether it was admitted (R51…R53). */
  async #admitted(pod: Pod): Promise<boolean> {
    const { workers, allocation } = this.#deps;
    if (workers.isPodTerminationRequested(uidOf(pod)) || isTerminalPhase(pod.status?.phase)) return true;
    const { admit, reason, message } = await allocation.addPod(pod).catch((fault: unknown) => ({
      // the pod is rejected when admission fails: housekeeping would start a desired pod without a worker
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

  /** Rejects a pod: records an Event and sets its phase to Failed (R128). */
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

  /** Handles updates and graceful deletions; only a resize is admitted again (R56). */
  async handlePodUpdates(pods: readonly Pod[]): Promise<void> {
    const startTime = this.#deps.clock.now();
    this.#observed(pods);
    for (const pod of pods) {
      const old = this.#deps.pods.getPodByUID(uidOf(pod));
      if (old) this.#deps.resizeRequested?.(old, pod);
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

  /** Detects a requested resize; one that was withdrawn is no longer pending. */
  async #detectResize(pod: Pod): Promise<void> {
    const { allocation, resizes } = this.#deps;
    if (!allocation.needsResize(pod)) {
      resizes.clearPending(uidOf(pod));
      return;
    }
    allocation.pushPendingResize(uidOf(pod));
    await allocation.retryPendingResizes('pod_updated');
  }

  /** Handles removed pods (R59…R61). */
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
    if (allocation.hasPendingResizes) await allocation.retryPendingResizes('pods_removed'); // resources were released
  }

  /** Handles pods of which only the status changed (R62…R65). */
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

  /** Syncs pods whose sync is due (R66). */
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

  /** Syncs the pod with this UID. Returns false when no such pod is desired. */
  handlePodSyncByUID(uid: string): boolean {
    const pod = this.#deps.pods.getPodByUID(uid);
    if (!pod) return false;
    this.handlePodSyncs([pod]);
    return true;
  }

  /** The pods that use resources of the node: those that are neither known to have ended nor rejected (R121). */
  activePods(): readonly Pod[] {
    return this.#deps.pods.getPods().filter((pod) => this.isActive(pod));
  }

  /** True while the pod uses resources of the node (R121). */
  isActive(pod: Pod): boolean {
    return isActivePod(this.#deps, pod);
  }

  /** Forwards a change of a mirror pod to the worker of its static pod (R50). */
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

/** The trigger for pending resizes when the pod has ended or uses less CPU or memory than before (R65). */
function makesRoom(before: Pod | undefined, after: Pod): ResizeTrigger | undefined {
  if (!before) return undefined;
  const [previous, next] = [before, after].map((pod) => podRequests(pod, { useStatusResources: true }));
  const shrank = ['cpu', 'memory'].some(
    (name) =>
      compareQuantities(ownMember(next, name) ?? zeroQuantity, ownMember(previous, name) ?? zeroQuantity) < 0,
  );
  if (shrank) return 'pod_resized';
  return isTerminalPhase(after.status?.phase) && !isTerminalPhase(before.status?.phase)
    ? 'pod_terminated'
    : undefined;
}

/** Sorts pods by creation time, oldest first; pods of equal age keep their order. */
function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  if (pods.length < 2) return pods;
  const createdAt = (pod: Pod): number => Date.parse(pod.metadata?.creationTimestamp ?? '') || 0;
  return pods.toSorted((a, b) => createdAt(a) - createdAt(b));
}
