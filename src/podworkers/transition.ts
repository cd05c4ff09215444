import { isTerminalPhase } from '../kube/pod-phase.ts';
import { effectiveGracePeriod, minimumGracePeriodSeconds } from './grace-period.ts';
import type { GateAnswer } from './start-gate.ts';
import {
  endingAt,
  type FinishedState,
  noWaiters,
  type PodState,
  type SyncState,
  type TerminatedState,
  type TerminatingState,
  type WorkType,
  workTypeOf,
} from './state.ts';
import { type Completion, type Kill, mergeWork, type UpdatePodOptions, type Work } from './updates.ts';

/** An event that changes the state of a pod with a worker. */
export type PodEvent =
  /** An update for the pod (R89…R100). `firstSight` is true when this update created the worker. */
  | { readonly type: 'update'; readonly options: UpdatePodOptions; readonly firstSight: boolean }
  /** The worker takes its turn (R109, R111, R113). */
  | { readonly type: 'turn'; readonly gate: GateAnswer }
  /** The worker begins to stop containers (R114). */
  | { readonly type: 'terminatingStarted' }
  /** `syncPod` found that the pod has ended by itself (R115). */
  | { readonly type: 'ended' }
  /** `syncTerminatingPod` succeeded: no container runs (R115). */
  | { readonly type: 'stopped' }
  /** `syncTerminatingRuntimePod` succeeded (R115). */
  | { readonly type: 'runtimePodStopped' }
  /** `syncTerminatedPod` succeeded (R115). */
  | { readonly type: 'cleanedUp' }
  /** A step has ended, successfully or not (R119). */
  | { readonly type: 'stepDone' }
  /** Housekeeping found that the UID is not desired, or that it was created again meanwhile (R124…R126). */
  | { readonly type: 'swept'; readonly orphan: boolean };

/** An action that the worker performs after a transition; several are performed in order. */
export type PodEffect =
  /** The worker has to take a turn; repeated wake-ups before that turn have no effect (R99). */
  | { readonly type: 'wake' }
  /** The step in flight, if any, is obsolete and is cancelled (R100). */
  | { readonly type: 'cancel' }
  /** The worker runs one step on the update that it has taken. */
  | { readonly type: 'run'; readonly step: WorkType; readonly work: Work }
  /** The completions of kills are called. */
  | { readonly type: 'settle'; readonly completions: readonly Completion[] }
  /** The completions of kills stay open, as in the kubelet (R276). */
  | { readonly type: 'abandon'; readonly completions: readonly Completion[] }
  /** The worker ends and releases its full name (R110). */
  | { readonly type: 'retire' };

/** The next state (`undefined` when the UID is forgotten) and the effects to perform. */
export type Step = readonly [PodState | undefined, readonly PodEffect[]];

const nothing: readonly PodEffect[] = [];
const wake: readonly PodEffect[] = [{ type: 'wake' }];
const wakeAndCancel: readonly PodEffect[] = [{ type: 'wake' }, { type: 'cancel' }];
const retire: PodEffect = { type: 'retire' };

/**
 * Computes the next state of a pod after an event, and the effects to perform. Pure: no clock and no I/O; `now` is ms since the epoch. An
 * event that cannot happen in a state changes nothing.
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

function update(state: PodState, event: Extract<PodEvent, { type: 'update' }>, now: number): Step {
  const options = withKnownPod(state, event.options);
  const runtimeOnly = event.options.pod === undefined;
  const current = runtimeOnly ? { ...state, observedRuntime: true } : state;
  if (!event.firstSight && current.phase !== 'sync' && options.type === 'create')
    return refuse({ ...current, restartRequested: true }, options); // R92: even when finished
  switch (current.phase) {
    case 'sync': {
      const reason = endReason(options, runtimeOnly);
      return reason
        ? updateEnding(terminating(current, now, reason), options, true)
        : updateWithoutKill(current, options); // R97: there is nothing to kill
    }
    case 'terminating':
      return updateEnding(current, options, false);
    case 'terminated': // R95: an old listing may still show what has ended
      return runtimeOnly ? refuse(current, options) : updateWithoutKill(current, options);
    case 'finished': // R93
      return refuse(current, options);
  }
}

/** A running pod whose UID has configuration is that pod; otherwise it stays a pod that only the runtime knows (R91). */
function withKnownPod(state: PodState, options: UpdatePodOptions): UpdatePodOptions {
  const pod = options.pod ?? state.pending?.pod ?? state.active?.pod;
  if (!pod) return options;
  const { runningPod: _, ...rest } = options;
  return { ...rest, pod };
}

/** The fields in which terminations differ when they begin. */
type EndReason = Partial<
  Pick<TerminatingState, 'deleted' | 'evicted' | 'startedTerminating' | 'gracePeriodSeconds'>
>;

/** Why the update terminates the pod; the first match wins. `undefined` when it does not terminate the pod (R94). */
function endReason({ type, pod, kill }: UpdatePodOptions, runtimeOnly: boolean): EndReason | undefined {
  if (runtimeOnly || pod?.metadata?.deletionTimestamp) return { deleted: true };
  if (isTerminalPhase(pod?.status?.phase)) return {};
  if (type === 'kill') return { evicted: kill?.evict ?? false };
  return undefined;
}

/** Every update of a terminating pod counts as a kill (R96). */
function updateEnding(state: TerminatingState, options: UpdatePodOptions, becameTerminating: boolean): Step {
  const { kill, pod } = options;
  const { gracePeriodSeconds, shortened } = effectiveGracePeriod({
    current: state.gracePeriodSeconds,
    pod,
    override: kill?.gracePeriodSeconds,
  });
  const effectiveKill: Kill = {
    ...(kill?.evict && { evict: true }),
    ...(kill?.statusFn && { statusFn: kill.statusFn }),
    gracePeriodSeconds,
  };
  const next: TerminatingState = {
    ...state,
    gracePeriodSeconds,
    notify: kill?.completed ? [...state.notify, kill.completed] : state.notify,
    statusFns: kill?.statusFn ? [...state.statusFns, kill.statusFn] : state.statusFns,
    pending: work(state, options, effectiveKill),
    working: true,
  };
  return [next, becameTerminating || shortened ? wakeAndCancel : wake];
}

/** Converts an update into work. Of two start times the earlier one counts, but only when the newer update has one (R87). */
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

/** Stores an update that kills nothing; the completion of its kill, if any, is called at once (R84, R95, R97, R99). */
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

/** Finishes a static pod whose termination was requested before it could start; the consumed update is not requeued (R108). */
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
  const [next, effects] = replay({ ...state, ...noWaiters, phase: 'terminated', terminatedAt: now });
  return [next, notify.length > 0 ? [{ type: 'settle', completions: notify }, ...effects] : effects];
}

function cleanedUp(state: PodState): Step {
  if (state.phase !== 'terminated') return [state, nothing];
  return [{ ...state, phase: 'finished', working: false }, [retire]];
}

/** Runs the last update again unless a newer one is pending, so that the next phase begins without an update from outside (R116). */
function replay(state: TerminatingState | TerminatedState | FinishedState): Step {
  if (state.pending || !state.active) return [state, nothing];
  return [{ ...state, pending: state.active, working: true }, wake];
}

// ── housekeeping ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function swept(state: PodState, orphan: boolean, now: number): Step {
  if (state.phase === 'finished') return forget(state); // R124
  if (!orphan) return [state, nothing]; // R125
  if (state.startedAt === undefined && !state.observedRuntime) return forget(state); // R126: no step ever ran for it
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

/** The completions that stay open when a terminating pod is forgotten; those of a finished pod were handled when it finished. */
function abandoned(state: PodState): readonly PodEffect[] {
  return state.phase === 'terminating' && state.notify.length > 0
    ? [{ type: 'abandon', completions: state.notify }]
    : nothing;
}
