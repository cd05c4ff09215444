import { FakeClock, settle } from '../../../base/fake-clock.ts';
import type { Pod } from '../../../kube/types.ts';
import { emptyStatus } from '../../../pleg/pod-cache.ts';
import { effectiveGracePeriod } from '../../../podworkers/grace-period.ts';
import { killPodNow } from '../../../podworkers/kill-pod.ts';
import { PodWorkers } from '../../../podworkers/pod-workers.ts';
import { requeueDefaults, requeueDelay } from '../../../podworkers/requeue.ts';
import { StartGate } from '../../../podworkers/start-gate.ts';
import type { PodState } from '../../../podworkers/state.ts';
import { isRuntimeIdle } from '../../../podworkers/terminal.ts';
import { type PodEvent, transition } from '../../../podworkers/transition.ts';
import type { Completion } from '../../../podworkers/updates.ts';
import type { RuntimeContainerState } from '../../../provider/runtime-pod.ts';
import { check, type Mismatch, type Replay } from '../recording.ts';
import { errorText } from '../support/error-text.ts';
import {
  stateFromWords,
  stateInWords,
  StatusFns,
  type StateWords,
  workInWords,
} from '../support/pod-workers.ts';

type Input = Readonly<Record<string, unknown>>;
type Tables = Readonly<Record<'startedStatic' | 'waitingStatic', unknown>>;

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const out = line['out'];
  const fn = line['fn'] as string;
  switch (fn) {
    case 'calculateEffectiveGracePeriod':
      return check(out, gracePeriod(input));
    case 'isPodStatusCacheTerminal':
      return check(out, runtimeIdle(input));
    case 'completeWork':
      return check(out, completeWork(input));
    case 'allowPodStart':
      return check(out, allowPodStart(input));
    case 'killPodNow':
      return killPod(input, out);
    default:
      return step(fn, input as unknown as StepInput, out as object);
  }
};

const optional = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function gracePeriod(input: Input): object {
  const deletion = optional(input['deletionGracePeriodSeconds']);
  const spec = optional(input['terminationGracePeriodSeconds']);
  const { gracePeriodSeconds, shortened } = effectiveGracePeriod({
    current: (input['currentGracePeriod'] as number | undefined) ?? 0,
    override: input['hasKillOptions'] ? optional(input['override']) : undefined,
    pod: {
      metadata: { ...(deletion !== undefined && { deletionGracePeriodSeconds: deletion }) },
      spec: { containers: [], ...(spec !== undefined && { terminationGracePeriodSeconds: spec }) },
    },
  });
  return { gracePeriod: gracePeriodSeconds, changed: shortened };
}

function runtimeIdle(input: Input): boolean {
  const containers = (input['containers'] ?? []) as RuntimeContainerState[];
  const sandboxes = (input['sandboxes'] ?? []) as ('SANDBOX_READY' | 'SANDBOX_NOTREADY')[];
  const common = { name: '', exitCode: 0, image: '', imageId: '', imageRef: '', hash: 0 };
  return isRuntimeIdle({
    ...emptyStatus('u'),
    containerStatuses: containers.map((state, i) => ({
      ...common,
      id: `t://${i}`,
      state,
      restartCount: 0,
      reason: '',
      message: '',
    })),
    sandboxStatuses: sandboxes.map((state, i) => ({
      id: `${i}`,
      state,
      attempt: 0,
      createdAt: 0,
      networkMode: 'POD',
    })),
  });
}

interface ErrorWords {
  readonly kind: 'none' | 'plain' | 'netNotReady' | 'canceled' | 'backoff' | 'wrappedBackoff' | 'aggregate';
  readonly inMs?: number;
  readonly members?: readonly ErrorWords[];
}

function errorOf({ kind, inMs = 0, members = [] }: ErrorWords): Error | undefined {
  switch (kind) {
    case 'none':
      return undefined;
    case 'plain':
      return new Error('broke');
    case 'netNotReady':
      return new Error('network is not ready: for now');
    case 'canceled':
      return new DOMException('aborted', 'AbortError');
    case 'backoff':
      return Object.assign(new Error('back-off'), { backOffUntil: inMs });
    case 'wrappedBackoff':
      return new Error('wrapped', { cause: errorOf({ kind: 'backoff', inMs }) });
    case 'aggregate':
      return new AggregateError(members.map(errorOf), 'several');
  }
}

function completeWork(input: Input): object {
  const error = errorOf(input['error'] as ErrorWords);
  const transitioned = input['phaseTransition'] as boolean;
  const options = {
    ...requeueDefaults,
    resyncMs: input['resyncMs'] as number,
    backoffMs: input['backoffMs'] as number,
  };
  const baseMs = requeueDelay({ transitioned, error }, options, 0);
  const words: StateWords = {
    fullname: 'p_ns',
    working: true,
    ...(input['pendingUpdate'] === true && { pending: { type: 'update', v: 'pending' } }),
  };
  const state = stateFromWords(
    words,
    { metadata: { name: 'p', namespace: 'ns', uid: 'u' } },
    new StatusFns(),
  );
  if (!state) throw new Error('the words are those of a state');
  const [next, effects] = transition(state, { type: 'stepDone' }, 0);
  return {
    baseMs,
    maxJitterFactor: baseMs > 0 ? 0.5 : 0,
    token: effects.some(({ type }) => type === 'wake'),
    working: next?.working,
  };
}

/** A gate that stands as the two tables say. */
function gateOf({ startedStatic, waitingStatic }: Tables): StartGate {
  const gate = new StartGate();
  const holder = (uid: string, fullName: string): Pod => ({
    metadata: { uid, name: fullName, annotations: { 'kubernetes.io/config.source': 'file' } },
  });
  for (const [fullName, uid] of Object.entries((startedStatic ?? {}) as Record<string, string>))
    gate.ask(holder(uid, fullName), () => ({ fullName, phase: 'sync' }));
  for (const [fullName, uids] of Object.entries((waitingStatic ?? {}) as Record<string, string[]>))
    for (const uid of uids) gate.enlist(fullName, uid);
  return gate;
}

const tablesOf = (gate: StartGate): Tables => ({
  startedStatic: Object.fromEntries(gate.started),
  waitingStatic: Object.fromEntries(gate.waiting),
});

const phaseOf = (words: StateWords): PodState['phase'] =>
  words.finished
    ? 'finished'
    : words.terminatedAt !== undefined
      ? 'terminated'
      : words.terminatingAt !== undefined
        ? 'terminating'
        : 'sync';

function allowPodStart(input: Input): object {
  const gate = gateOf(input);
  const statuses = (input['statuses'] ?? {}) as Record<string, StateWords>;
  const pod = input['pod'] as Pod;
  const answer = gate.ask(pod, (uid) => {
    const words = statuses[uid];
    return words && { fullName: words.fullname, phase: phaseOf(words) };
  });
  const requeued = {
    call: 'enqueue',
    uid: pod.metadata?.uid,
    class: 'backoff',
    minMs: requeueDefaults.backoffMs,
    maxMs: requeueDefaults.backoffMs * 1.5,
  };
  return {
    canStart: answer === 'start',
    canEverStart: answer !== 'never',
    events: answer === 'wait' ? [requeued] : [],
    ...tablesOf(gate),
  };
}

interface StepInput extends Tables {
  readonly status: StateWords | null;
  readonly activePod: Pod;
  readonly orphaned?: boolean;
  readonly now: number;
}

/** The transitions of a worker. States that cannot come about have no counterpart here: our types do not let one write them down. */
function step(fn: string, input: StepInput, out: object): Mismatch | undefined {
  const fns = new StatusFns();
  const state = input.status ? stateFromWords(input.status, input.activePod, fns) : undefined;
  const gate = gateOf(input);
  const event = state && eventOf(fn, input, state, gate);
  if (!state || !event) return undefined;
  const uid = input.activePod.metadata?.uid ?? '';
  const [next, effects] = transition(state, event, input.now * 1000);
  if (effects.some(({ type }) => type === 'retire')) gate.release(state.fullName, uid);
  const run = effects.find((effect) => effect.type === 'run');
  const took = event.type === 'turn' && state.pending !== undefined;
  const hasToken =
    (event.type !== 'turn' && input.status?.token === true) || effects.some(({ type }) => type === 'wake');
  const { update: _, workType, ...compared } = out as { update?: object; workType?: string };
  const words = next && {
    ...stateInWords(next, fns),
    token: next.phase !== 'finished' && hasToken,
    hasCancel: took,
    // the update was taken before the function is called; what waits by then it leaves alone
    ...(fn === 'cleanupUnstartedPod' && { hasCancel: false, pending: workInWords(state.pending, fns) }),
  };
  const actual = {
    ...tablesOf(gate),
    status: words,
    ...extras(fn, event, { next, run: run?.step, took }, fns),
  };
  // what is not run has no kind of work here
  const expected = { ...compared, workType: run && workType, hasWorker: undefined, events: undefined };
  return (
    check(expected, actual) ??
    ('update' in out && run ? check(out.update, workInWords(run.work, fns)) : undefined)
  );
}

interface After {
  readonly next: PodState | undefined;
  readonly run: string | undefined;
  readonly took: boolean;
}

/** What single functions answer besides the state. */
function extras(fn: string, event: PodEvent, { next, run, took }: After, fns: StatusFns): object {
  if (fn === 'removeTerminatedWorker') return { removed: next === undefined };
  if (fn === 'cleanupUnstartedPod') return {};
  if (event.type === 'turn')
    return {
      ok: took,
      canStart: run !== undefined,
      canEverStart: took && event.gate !== 'never',
      workType: run,
    };
  if (fn === 'acknowledgeTerminating')
    return { statusFn: next?.phase === 'terminating' ? fns.nameOf(next.statusFns.at(-1)) : '' };
  return {};
}

/** The event that stands for the function in that state; `undefined`: the function is not called in it. */
function eventOf(fn: string, input: StepInput, state: PodState, gate: StartGate): PodEvent | undefined {
  switch (fn) {
    case 'removeTerminatedWorker':
      return { type: 'swept', orphan: input.orphaned ?? false };
    case 'startPodSync': {
      if (state.phase === 'finished') return undefined;
      const pod = state.startedAt === undefined ? state.pending?.pod : undefined;
      return {
        type: 'turn',
        gate: pod ? gate.ask(pod, (uid) => (uid === pod.metadata?.uid ? state : undefined)) : 'start',
      };
    }
    case 'cleanupUnstartedPod':
      // only a pod that is to end already is never let start
      return state.phase !== 'finished' &&
        state.phase !== 'sync' &&
        state.startedAt === undefined &&
        state.pending
        ? { type: 'turn', gate: 'never' }
        : undefined;
    case 'acknowledgeTerminating':
      return state.phase === 'terminating' ? { type: 'terminatingStarted' } : undefined;
    case 'completeSync':
      return state.phase === 'sync' || state.phase === 'terminating' ? { type: 'ended' } : undefined;
    case 'completeTerminating':
      return state.phase === 'terminating' ? { type: 'stopped' } : undefined;
    case 'completeTerminatingRuntimePod':
      return { type: 'runtimePodStopped' };
    case 'completeTerminated':
      return state.phase === 'terminated' ? { type: 'cleanedUp' } : undefined;
    default:
      throw new Error(`unknown function ${fn}`);
  }
}

async function killPod(input: Input, out: unknown): Promise<Mismatch | undefined> {
  const clock = new FakeClock();
  const fns = new StatusFns();
  const events: object[] = [];
  const uid = 'u0';
  const spec = optional(input['terminationGracePeriodSeconds']);
  const pod: Pod = {
    metadata: { uid, name: 'foo', namespace: 'ns', labels: { v: 'runtime' } },
    spec: { containers: [], ...(spec !== undefined && { terminationGracePeriodSeconds: spec }) },
  };
  const recorder = {
    event: (_object: object, type: string, reason: string, message: string) =>
      events.push({ call: 'event', uid, type, reason, message }),
  };
  let completed: Completion = () => undefined;
  const workers = new PodWorkers({
    clock,
    recorder,
    random: { float: () => 0, uuid: () => '', hex: () => '' },
    queue: { enqueue: () => undefined },
    turnGate: () => undefined,
    cache: { get: emptyStatus, getNewerThan: async (id) => emptyStatus(id) },
    syncer: {
      syncPod: async () => ({ terminal: false }),
      syncTerminatingPod: async () => undefined,
      syncTerminatingRuntimePod: async () => undefined,
      syncTerminatedPod: async () => undefined,
    },
  });
  const override = optional(input['override']);
  const killed = killPodNow(
    {
      clock,
      recorder,
      workers: {
        updatePod: (options) => {
          completed = options.kill?.completed ?? completed;
          workers.updatePod(options);
        },
      },
    },
    pod,
    {
      evict: input['evict'] as boolean,
      statusFn: fns.named('fn'),
      ...(override !== undefined && { gracePeriodSeconds: override }),
    },
  );
  let returned: { returnedAfterMs: number; error: string } | undefined;
  killed.then(
    () => (returned = { returnedAfterMs: clock.now(), error: '' }),
    (reason: unknown) => (returned = { returnedAfterMs: clock.now(), error: errorText(reason) }),
  );
  const state = workers.stateOf(uid);
  clock.timer(input['completesAfterMs'] as number, () => {
    completed();
  });
  await clock.advance(input['completesAfterMs'] as number);
  await settle();
  return check(out, {
    ...returned,
    events,
    pending: workInWords(state?.pending, fns),
    gracePeriod: state?.phase === 'terminating' ? state.gracePeriodSeconds : undefined,
  });
}
