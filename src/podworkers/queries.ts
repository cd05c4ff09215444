import { isStaticPod } from '../kube/names.ts';
import { type PodState, type WorkType, workTypeOf } from './state.ts';

/** What others may ask about a UID. */
export interface PodQueries {
  /** Could a container of it run, or be started? */
  readonly couldHaveRunningContainers: boolean;
  /** Is it certain that none of its containers is started any more? */
  readonly shouldPodContainersBeTerminating: boolean;
  /** May its containers be removed from the runtime? */
  readonly shouldPodRuntimeBeRemoved: boolean;
  /** May its containers' content and logs be removed? */
  readonly shouldPodContentBeRemoved: boolean;
  /** Is all that had to be done for it done? */
  readonly shouldPodBeFinished: boolean;
  readonly isPodTerminationRequested: boolean;
  readonly isPodKnownTerminated: boolean;
}

/** Before the desired pods were told once, an unknown UID may well run (R266). */
const unknownYet: PodQueries = {
  couldHaveRunningContainers: true,
  shouldPodContainersBeTerminating: false,
  shouldPodRuntimeBeRemoved: false,
  shouldPodContentBeRemoved: false,
  shouldPodBeFinished: false,
  isPodTerminationRequested: false,
  isPodKnownTerminated: false,
};

/** After that, an unknown UID is nobody's. */
const nobodys: PodQueries = {
  couldHaveRunningContainers: false,
  shouldPodContainersBeTerminating: true,
  shouldPodRuntimeBeRemoved: true,
  shouldPodContentBeRemoved: true,
  shouldPodBeFinished: true,
  isPodTerminationRequested: false,
  isPodKnownTerminated: false,
};

/** R120: every answer about one UID. `podsSynced`: the desired pods were told at least once (R123). */
export function queriesOf(state: PodState | undefined, podsSynced: boolean): PodQueries {
  if (!state) return podsSynced ? nobodys : unknownYet;
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

/** A worker that is left after the desired pods were told (R127). */
export interface PodWorkerSync {
  readonly state: WorkType;
  /** Nobody wants it. */
  readonly orphan: boolean;
  /** Its configuration is known; without, only the runtime knows it. */
  readonly hasConfig: boolean;
  readonly static: boolean;
}

/** R127: the active update counts if there is one, even one without a pod; else the pending one. */
export function syncOf(state: PodState, orphan: boolean): PodWorkerSync {
  const { pod } = state.active ?? state.pending ?? {};
  const known = knownSyncs[workTypeOf(state)][orphan ? 1 : 0];
  if (!pod) return known.runtimeOnly;
  return isStaticPod(pod) ? known.static : known.configured;
}

const syncsOf = (
  state: WorkType,
  orphan: boolean,
): Record<'runtimeOnly' | 'configured' | 'static', PodWorkerSync> => ({
  runtimeOnly: { state, orphan, hasConfig: false, static: false },
  configured: { state, orphan, hasConfig: true, static: false },
  static: { state, orphan, hasConfig: true, static: true },
});

const wantedAndOrphan = (state: WorkType) => [syncsOf(state, false), syncsOf(state, true)] as const;

/** All that can be said: every sweep says it of every pod. */
const knownSyncs = {
  sync: wantedAndOrphan('sync'),
  terminating: wantedAndOrphan('terminating'),
  terminated: wantedAndOrphan('terminated'),
} as const satisfies Record<WorkType, unknown>;
