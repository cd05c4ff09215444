import type { Completion, PodStatusFn, Work } from './updates.ts';

/** What holds in every phase. Instants are ms since the epoch. */
interface Known {
  /** `name_namespace`, as at first sight. */
  readonly fullName: string;
  /** First sight of the UID. */
  readonly syncedAt: number;
  /** When the start gate let it through; a pod that only the runtime knows never starts (R111). */
  readonly startedAt: number | undefined;
  /** An update waits or is being worked on. */
  readonly working: boolean;
  /** The newest update that no worker has taken; it replaces an older one (R84). */
  readonly pending: Work | undefined;
  /** What the worker was last told; what a replay repeats (R85). */
  readonly active: Work | undefined;
  /** The runtime had it before anyone here started it: it has to be driven to its end (R91). */
  readonly observedRuntime: boolean;
}

/** What holds once an end is wanted; nothing leads back from there. */
interface Ending extends Known {
  /** Who asked for the end and still waits for it. */
  readonly notify: readonly Completion[];
  readonly statusFns: readonly PodStatusFn[];
  readonly terminatingAt: number;
  /** Seconds; 0: nobody has asked for a grace period yet. */
  readonly gracePeriodSeconds: number;
  /** Why it ends: deleted from its source (R94). */
  readonly deleted: boolean;
  /** Why it ends: evicted (R94). */
  readonly evicted: boolean;
  /** From here on no container is started any more (R114). */
  readonly startedTerminating: boolean;
  /** The UID was created anew meanwhile: begin again when this life is over (R92). */
  readonly restartRequested: boolean;
}

/** Its containers are started and kept. */
export interface SyncState extends Known {
  readonly phase: 'sync';
}

/** Its containers are being stopped. */
export interface TerminatingState extends Ending {
  readonly phase: 'terminating';
}

/** No container runs; what is left of it is being cleaned up. */
export interface TerminatedState extends Ending {
  readonly phase: 'terminated';
  readonly terminatedAt: number;
  /** Whoever waited was told. */
  readonly notify: readonly [];
  readonly statusFns: readonly [];
}

/** Nothing is left to do. It stays known until housekeeping forgets it, so that the UID cannot run twice (R93). */
export interface FinishedState extends Ending {
  readonly phase: 'finished';
  readonly terminatedAt: number;
}

/** One life of one pod UID, as its worker knows it. Kubelet's `podSyncStatus`. */
export type PodState = SyncState | TerminatingState | TerminatedState | FinishedState;

/** What the worker does with an update: kubelet's `WorkType`, fixed when the update is taken (R82, R113). */
export type WorkType = 'sync' | 'terminating' | 'terminated';

/** R82: a finished pod counts as terminated. */
export const workTypeOf = (state: PodState): WorkType =>
  state.phase === 'finished' ? 'terminated' : state.phase;

/** A UID at first sight. */
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

/** A UID whose end was complete before the agent restarted: only the clean-up is repeated (R90). */
export function firstStateOfEnded(fullName: string, now: number): TerminatedState {
  return {
    ...firstState(fullName, now),
    ...endingAt(now),
    ...nobodyWaits,
    phase: 'terminated',
    startedTerminating: true,
    terminatedAt: now,
  };
}

/** Nobody waits for the end any more. */
export const nobodyWaits: Pick<TerminatedState, 'notify' | 'statusFns'> = { notify: [], statusFns: [] };

/** The beginning of an end, without its reason. */
export function endingAt(now: number): Omit<Ending, keyof Known> {
  return {
    notify: nobodyWaits.notify,
    statusFns: nobodyWaits.statusFns,
    terminatingAt: now,
    gracePeriodSeconds: 0,
    deleted: false,
    evicted: false,
    startedTerminating: false,
    restartRequested: false,
  };
}
