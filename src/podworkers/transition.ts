import { isTerminalPhase } from '../kube/pod-phase.ts';
import { effectiveGracePeriod, minimumGracePeriodSeconds } from './grace-period.ts';
import type { GateAnswer } from './start-gate.ts';
import {
  endingAt,
  type FinishedState,
  nobodyWaits,
  type PodState,
  type SyncState,
  type TerminatedState,
  type TerminatingState,
  type WorkType,
  workTypeOf,
} from './state.ts';
import { type Completion, type Kill, mergeWork, type UpdatePodOptions, type Work } from './updates.ts';

/** What can happen to a known pod. */
export type PodEvent =
  /** Someone wants something of it (R89…R100). `firstSight`: this very update made it known. */
  | { readonly type: 'update'; readonly options: UpdatePodOptions; readonly firstSight: boolean }
  /** Its worker's turn has come (R109, R111, R113). */
  | { readonly type: 'turn'; readonly gate: GateAnswer }
  /** Its worker begins to stop containers (R114). */
  | { readonly type: 'terminatingStarted' }
  /** `syncPod` found that the pod has ended by itself (R115). */
  | { readonly type: 'ended' }
  /** `syncTerminatingPod` succeeded: no container runs (R115). */
  | { readonly type: 'stopped' }
  /** `syncTerminatingRuntimePod` succeeded (R115). */
  | { readonly type: 'runtimePodStopped' }
  /** `syncTerminatedPod` succeeded (R115). */
  | { readonly type: 'cleanedUp' }
  /** A step is over, however it went (R119). */
  | { readonly type: 'stepDone' }
  /** Housekeeping finds that nobody wants this life: the UID is not desired, or it was created anew meanwhile (R124…R126). */
  | { readonly type: 'swept'; readonly orphan: boolean };

/** What is to be done about it, in order. */
export type PodEffect =
  /** The worker is to take a turn; once is enough (R99). */
  | { readonly type: 'wake' }
  /** The step in flight, if any, is out of date (R100). */
  | { readonly type: 'cancel' }
  /** The worker runs one step on the update that it took. */
  | { readonly type: 'run'; readonly step: WorkType; readonly work: Work }
  /** Who asked for the end has waited long enough. */
  | { readonly type: 'settle'; readonly completions: readonly Completion[] }
  /** Who asked for the end will never be told; kubelet leaves them waiting (R276). */
  | { readonly type: 'abandon'; readonly completions: readonly Completion[] }
  /** The worker ends and its claim to the full name with it (R110). */
  | { readonly type: 'retire' };

/** The next state, `undefined` when the UID is forgotten, and what is to be done. */
export type Step = readonly [PodState | undefined, readonly PodEffect[]];

const nothing: readonly PodEffect[] = [];
const wake: readonly PodEffect[] = [{ type: 'wake' }];
const wakeAndCancel: readonly PodEffect[] = [{ type: 'wake' }, { type: 'cancel' }];
const retire: PodEffect = { type: 'retire' };

/**
 * One step of a pod's life: the next state and what must be done about it.
 * Pure: no clock, no I/O; `now` is ms since the epoch. An event that cannot happen in a state changes nothing.
 *
 * Follows kubelet `podWorkers.UpdatePod`, `startPodSync`, `complete*`, `removeTerminatedWorker` (pkg/kubelet/pod_workers.go, v1.36).
 */
export function transition(state: PodState, event: PodEvent, now: number): Step {
  switch (event.type) {
    case 'update':
      return update(state, event, now);
    case 'turn':
      return takeTurn(state, event.gate, now);
    case 'terminatingStarted':
      return acknowledged(state);
    case 'ended':
      return ended(state, now);
    case 'stopped':
      return stopped(state, now);
    case 'runtimePodStopped':
      return forget(state);
    case 'cleanedUp':
      return cleanedUp(state);
    case 'stepDone':
      return state.pending ? [state, wake] : [{ ...state, working: false }, nothing];
    case 'swept':
      return swept(state, event.orphan, now);
  }
}

// ── updates ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function update(known: PodState, event: Extract<PodEvent, { type: 'update' }>, now: number): Step {
  const options = withKnownPod(known, event.options);
  const runtimeOnly = event.options.pod === undefined;
  const seen = runtimeOnly ? { ...known, observedRuntime: true } : known;
  if (!event.firstSight && seen.phase !== 'sync' && options.type === 'create')
    return refuse({ ...seen, restartRequested: true }, options); // R92: even when finished
  switch (seen.phase) {
    case 'sync': {
      const reason = endReason(options, runtimeOnly);
      return reason
        ? updateEnding(terminating(seen, now, reason), options, true)
        : updateWithoutKill(seen, options); // R97: there is nothing to kill
    }
    case 'terminating':
      return updateEnding(seen, options, false);
    case 'terminated': // R95: an old listing may still show what has ended
      return runtimeOnly ? refuse(seen, options) : updateWithoutKill(seen, options);
    case 'finished': // R93
      return refuse(seen, options);
  }
}

/** R91: what the runtime shows under a UID with configuration is that pod; without one it stays a pod of the runtime alone. */
function withKnownPod(state: PodState, options: UpdatePodOptions): UpdatePodOptions {
  const pod = options.pod ?? state.pending?.pod ?? state.active?.pod;
  if (!pod) return options;
  const { runningPod: _, ...rest } = options;
  return { ...rest, pod };
}

/** What makes one end differ from another at its beginning. */
type EndReason = Partial<
  Pick<TerminatingState, 'deleted' | 'evicted' | 'startedTerminating' | 'gracePeriodSeconds'>
>;

/** R94: why the update ends the pod, first match wins; `undefined` when it does not. */
function endReason({ type, pod, kill }: UpdatePodOptions, runtimeOnly: boolean): EndReason | undefined {
  if (runtimeOnly || pod?.metadata?.deletionTimestamp) return { deleted: true };
  if (isTerminalPhase(pod?.status?.phase)) return {};
  if (type === 'kill') return { evicted: kill?.evict ?? false };
  return undefined;
}

/** R96: whatever is told to an ending pod is a kill. */
function updateEnding(state: TerminatingState, options: UpdatePodOptions, becameTerminating: boolean): Step {
  const { kill, pod } = options;
  const { gracePeriodSeconds, shortened } = effectiveGracePeriod({
    current: state.gracePeriodSeconds,
    pod,
    override: kill?.gracePeriodSeconds,
  });
  const told: Kill = {
    ...(kill?.evict && { evict: true }),
    ...(kill?.statusFn && { statusFn: kill.statusFn }),
    gracePeriodSeconds,
  };
  const next: TerminatingState = {
    ...state,
    gracePeriodSeconds,
    notify: kill?.completed ? [...state.notify, kill.completed] : state.notify,
    statusFns: kill?.statusFn ? [...state.statusFns, kill.statusFn] : state.statusFns,
    pending: work(state, options, told),
    working: true,
  };
  return [next, becameTerminating || shortened ? wakeAndCancel : wake];
}

/** The update as a worker takes it. R87: of two start times the earlier counts, but only if the newer update has one. */
function work(state: PodState, options: UpdatePodOptions, kill: Kill | undefined): Work {
  const { type, pod, mirrorPod, runningPod } = options;
  const earlier = state.pending?.startTime;
  const startTime =
    earlier !== undefined && options.startTime !== undefined && earlier < options.startTime
      ? earlier
      : options.startTime;
  const common = { type, mirrorPod, startTime, kill };
  if (pod) return { ...common, pod, runningPod: undefined };
  if (runningPod) return { ...common, pod: undefined, runningPod };
  throw new TypeError('an update names neither a pod nor a running pod');
}

/** R84, R95, R97, R99: who asked for a kill has nothing to wait for. */
function updateWithoutKill(state: SyncState | TerminatedState, options: UpdatePodOptions): Step {
  const completed = options.kill?.completed;
  return [
    { ...state, pending: work(state, options, undefined), working: true },
    completed ? [{ type: 'settle', completions: [completed] }, ...wake] : wake,
  ];
}

function refuse(state: PodState, { kill }: UpdatePodOptions): Step {
  return [state, kill?.completed ? [{ type: 'abandon', completions: [kill.completed] }] : nothing];
}

// ── the worker's turn ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function takeTurn(state: PodState, gate: GateAnswer, now: number): Step {
  const { pending } = state;
  if (!pending || gate === 'wait') return [{ ...state, working: false }, nothing]; // R109: a refused update stays pending
  if (gate === 'never') return neverStarted(state, now);
  return [
    {
      ...state,
      pending: undefined,
      active: mergeWork(state.active, pending),
      startedAt: state.startedAt ?? (pending.pod ? now : undefined), // R111
    },
    [{ type: 'run', step: workTypeOf(state), work: pending }],
  ];
}

/** R108: a static pod that is to end before it could start is over at once; the consumed update is not put back. */
function neverStarted(state: PodState, now: number): Step {
  const finished: FinishedState = {
    ...(state.phase === 'sync' ? terminating(state, now, {}) : state),
    phase: 'finished',
    pending: undefined,
    working: false,
    terminatedAt: now,
  };
  return [finished, [...abandoned(state), retire]];
}

// ── the ends of steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function terminating(state: SyncState, now: number, reason: EndReason): TerminatingState {
  return { ...state, ...endingAt(now), ...reason, phase: 'terminating' };
}

function acknowledged(state: PodState): Step {
  if (state.phase !== 'terminating' || state.startedTerminating) return [state, nothing];
  return [{ ...state, startedTerminating: true }, nothing];
}

function ended(state: PodState, now: number): Step {
  if (state.phase === 'sync') return replay(terminating(state, now, { startedTerminating: true }));
  return state.phase === 'terminating' ? replay({ ...state, startedTerminating: true }) : [state, nothing];
}

function stopped(state: PodState, now: number): Step {
  if (state.phase !== 'terminating') return [state, nothing];
  const { notify } = state;
  const [next, effects] = replay({ ...state, ...nobodyWaits, phase: 'terminated', terminatedAt: now });
  return [next, notify.length > 0 ? [{ type: 'settle', completions: notify }, ...effects] : effects];
}

function cleanedUp(state: PodState): Step {
  if (state.phase !== 'terminated') return [state, nothing];
  return [{ ...state, phase: 'finished', working: false }, [retire]];
}

/** R116: the last update runs again unless a newer one waits, so that a transition needs no word from outside. */
function replay(state: TerminatingState | TerminatedState | FinishedState): Step {
  if (state.pending || !state.active) return [state, nothing];
  return [{ ...state, pending: state.active, working: true }, wake];
}

// ── housekeeping ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function swept(state: PodState, orphan: boolean, now: number): Step {
  if (state.phase === 'finished') return forget(state); // R124
  if (!orphan) return [state, nothing]; // R125
  if (state.startedAt === undefined && !state.observedRuntime) return forget(state); // R126: nothing was ever done for it
  if (state.phase !== 'sync') return replay({ ...state, deleted: true });
  const pod = state.active?.pod;
  const gracePeriodSeconds = pod
    ? effectiveGracePeriod({ current: 0, pod, override: undefined }).gracePeriodSeconds
    : minimumGracePeriodSeconds; // R105
  return replay(terminating(state, now, { deleted: true, gracePeriodSeconds }));
}

function forget(state: PodState): Step {
  return [undefined, [...abandoned(state), retire]];
}

/** Those of a finished pod were given up when it finished. */
function abandoned(state: PodState): readonly PodEffect[] {
  return state.phase === 'terminating' && state.notify.length > 0
    ? [{ type: 'abandon', completions: state.notify }]
    : nothing;
}
