import type { Completion, PodStatusFn, Work } from './updates.ts';

/** The fields of every phase. Times are ms since the epoch. */
interface BaseState {
  /** `name_namespace`, from the first update. */
  readonly fullName: string;
  /** When the UID was first seen. */
  readonly syncedAt: number;
  /** When the start gate let the pod start; never set for a pod that only the runtime knows (R111). */
  readonly startedAt: number | undefined;
  /** True while an update is pending or being processed. */
  readonly working: boolean;
  /** The newest update that the worker has not taken yet; it replaces an older one (R84). */
  readonly pending: Work | undefined;
  /** The last update that the worker took; a replay repeats it (R85). */
  readonly active: Work | undefined;
  /** True when the runtime ran the pod before this agent started it: it has to be terminated (R91). */
  readonly observedRuntime: boolean;
}

/** The additional fields once termination was requested. There is no way back to `sync`. */
interface Ending extends BaseState {
  /** The completions to call when no container runs any more. */
  readonly notify: readonly Completion[];
  readonly statusFns: readonly PodStatusFn[];
  readonly terminatingAt: number;
  /** The grace period in force, seconds; 0 while there is none. */
  readonly gracePeriodSeconds: number;
  /** True when the pod ends because it was deleted from its source (R94). */
  readonly deleted: boolean;
  /** True when the pod ends because it was evicted (R94). */
  readonly evicted: boolean;
  /** True once the worker has begun to stop containers: none is started after that (R114). */
  readonly startedTerminating: boolean;
  /** True when the UID was created again meanwhile: the pod starts again once this termination has finished (R92). */
  readonly restartRequested: boolean;
}

/** The pod's containers are started and kept running. */
export interface SyncState extends BaseState {
  readonly phase: 'sync';
}

/** The pod's containers are being stopped. */
export interface TerminatingState extends Ending {
  readonly phase: 'terminating';
}

/** No container of the pod runs; its remaining resources are being cleaned up. */
export interface TerminatedState extends Ending {
  readonly phase: 'terminated';
  readonly terminatedAt: number;
  /** Always empty: the completions were called when the last container stopped. */
  readonly notify: readonly [];
  readonly statusFns: readonly [];
}

/** All work for the pod is done. The state remains until housekeeping forgets the UID, so that the UID cannot run twice (R93). */
export interface FinishedState extends Ending {
  readonly phase: 'finished';
  readonly terminatedAt: number;
}

/** The state of one pod UID, from its first update until it is forgotten. Kubelet's `podSyncStatus`. */
export type PodState = SyncState | TerminatingState | TerminatedState | FinishedState;

/** Which step the worker runs on an update, fixed when it takes the update (R82, R113). Kubelet's `WorkType`. */
export type WorkType = 'sync' | 'terminating' | 'terminated';

/** The work type of a state; a finished pod counts as terminated (R82). */
export const workTypeOf = (state: PodState): WorkType =>
  state.phase === 'finished' ? 'terminated' : state.phase;

/** The state of a UID that is seen for the first time. */
export function firstState(fullName: string, now: number): SyncState {
  return {
    phase: 'sync',
    fullName,
    syncedAt: now,
    startedAt: undefined,
    working: false,
    pending: undefined,
    active: undefined,
    observedRuntime: false,
  };
}

/** The first state of a UID that had ended before the agent restarted: only the clean-up is repeated (R90). */
export function firstStateOfEnded(fullName: string, now: number): TerminatedState {
  return {
    ...firstState(fullName, now),
    ...endingAt(now),
    ...noWaiters,
    phase: 'terminated',
    startedTerminating: true,
    terminatedAt: now,
  };
}

/** The fields of a state without open completions and status functions. */
export const noWaiters: Pick<TerminatedState, 'notify' | 'statusFns'> = { notify: [], statusFns: [] };

/** The fields that a termination adds when it begins, without its reason. */
export function endingAt(now: number): Omit<Ending, keyof BaseState> {
  return {
    notify: noWaiters.notify,
    statusFns: noWaiters.statusFns,
    terminatingAt: now,
    gracePeriodSeconds: 0,
    deleted: false,
    evicted: false,
    startedTerminating: false,
    restartRequested: false,
  };
}
