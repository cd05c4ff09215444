import { isStaticPod } from '../kube/names.ts';
import { type PodState, type WorkType, workTypeOf } from './state.ts';

/** The answers that other components need about a UID before they start, stop or remove something of it. */
export interface PodQueries {
  /** True while a container of the pod may run or be started. */
  readonly couldHaveRunningContainers: boolean;
  /** True once it is certain that no container of the pod will be started again. */
  readonly shouldPodContainersBeTerminating: boolean;
  /** True once the pod's containers may be removed from the runtime. */
  readonly shouldPodRuntimeBeRemoved: boolean;
  /** True once the content and logs of the pod's containers may be removed. */
  readonly shouldPodContentBeRemoved: boolean;
  /** True once all work for the pod is done. */
  readonly shouldPodBeFinished: boolean;
  readonly isPodTerminationRequested: boolean;
  readonly isPodKnownTerminated: boolean;
}

/** The answers for an unknown UID before the first `syncKnownPods`: it may still run (R266). */
const unknownYet: PodQueries = {
  couldHaveRunningContainers: true,
  shouldPodContainersBeTerminating: false,
  shouldPodRuntimeBeRemoved: false,
  shouldPodContentBeRemoved: false,
  shouldPodBeFinished: false,
  isPodTerminationRequested: false,
  isPodKnownTerminated: false,
};

/** The answers for an unknown UID after the first `syncKnownPods`: it belongs to no pod, and what it left may be removed. */
const unclaimed: PodQueries = {
  couldHaveRunningContainers: false,
  shouldPodContainersBeTerminating: true,
  shouldPodRuntimeBeRemoved: true,
  shouldPodContentBeRemoved: true,
  shouldPodBeFinished: true,
  isPodTerminationRequested: false,
  isPodKnownTerminated: false,
};

/** Answers all queries about one UID (R120). `podsSynced` is true from the first `syncKnownPods` on (R123). */
export function queriesOf(state: PodState | undefined, podsSynced: boolean): PodQueries {
  if (!state) return podsSynced ? unclaimed : unknownYet;
  const requested = state.phase !== 'sync';
  const terminated = state.phase === 'terminated' || state.phase === 'finished';
  return {
    couldHaveRunningContainers: !terminated,
    shouldPodContainersBeTerminating: requested && state.startedTerminating,
    shouldPodRuntimeBeRemoved: terminated,
    shouldPodContentBeRemoved: requested && (state.evicted || (state.deleted && terminated)),
    shouldPodBeFinished: state.phase === 'finished',
    isPodTerminationRequested: requested,
    isPodKnownTerminated: terminated,
  };
}

/** A worker that remains after `syncKnownPods` (R127). */
export interface PodWorkerSync {
  readonly state: WorkType;
  /** True when the pod is not among the desired pods. */
  readonly orphan: boolean;
  /** True when the pod's configuration is known; false when only the runtime knows the pod. */
  readonly hasConfig: boolean;
  readonly static: boolean;
}

/**
 * Summarizes a worker's state. The pod is that of the active update if there is one, even one without a pod, else of the pending one
 * (R127).
 */
export function syncOf(state: PodState, orphan: boolean): PodWorkerSync {
  const { pod } = state.active ?? state.pending ?? {};
  const syncs = knownSyncs[workTypeOf(state)][orphan ? 1 : 0];
  if (!pod) return syncs.runtimeOnly;
  return isStaticPod(pod) ? syncs.static : syncs.configured;
}

const syncsOf = (
  state: WorkType,
  orphan: boolean,
): Record<'runtimeOnly' | 'configured' | 'static', PodWorkerSync> => ({
  runtimeOnly: { state, orphan, hasConfig: false, static: false },
  configured: { state, orphan, hasConfig: true, static: false },
  static: { state, orphan, hasConfig: true, static: true },
});

const desiredAndOrphan = (state: WorkType) => [syncsOf(state, false), syncsOf(state, true)] as const;

/** All possible summaries, precomputed: every housekeeping pass needs one for each pod. */
const knownSyncs = {
  sync: desiredAndOrphan('sync'),
  terminating: desiredAndOrphan('terminating'),
  terminated: desiredAndOrphan('terminated'),
} as const satisfies Record<WorkType, unknown>;
