import { expect, test } from 'vitest';
import { emptyStatus } from '../../src/pleg/pod-cache.ts';
import {
  endingAt,
  type FinishedState,
  firstState,
  firstStateOfEnded,
  noWaiters,
  type PodState,
  type SyncState,
  type TerminatedState,
  type TerminatingState,
} from '../../src/podworkers/state.ts';
import { isRuntimeIdle } from '../../src/podworkers/terminal.ts';
import { type PodEvent, transition } from '../../src/podworkers/transition.ts';
import {
  type KillPodOptions,
  mergeWork,
  type UpdatePodOptions,
  type Work,
} from '../../src/podworkers/updates.ts';
import type { RuntimePod } from '../../src/provider/runtime-pod.ts';
import { testPod } from './bench.ts';

const now = 5000;
const pod = testPod({ uid: 'u' });
const runningPod: RuntimePod = { uid: 'u', name: 'u', namespace: 'ns', containers: [], sandboxes: [] };
const podWork: Work = {
  type: 'update',
  pod,
  runningPod: undefined,
  mirrorPod: undefined,
  startTime: undefined,
  kill: undefined,
};
const runtimeWork: Work = { ...podWork, type: 'kill', pod: undefined, runningPod };
const active = mergeWork(undefined, podWork);

const unstarted: SyncState = firstState('u_ns', 1000);
const sync: SyncState = { ...unstarted, startedAt: 2000, active };
const terminating: TerminatingState = {
  ...sync,
  ...endingAt(3000),
  phase: 'terminating',
  gracePeriodSeconds: 30,
};
const terminated: TerminatedState = {
  ...terminating,
  ...noWaiters,
  phase: 'terminated',
  startedTerminating: true,
  terminatedAt: 4000,
};
const finished: FinishedState = { ...terminated, phase: 'finished' };

const update = (options: Partial<UpdatePodOptions>, firstSight = false): PodEvent => ({
  type: 'update',
  options: { type: 'update', pod, ...options },
  firstSight,
});
const runtimeKill: PodEvent = { type: 'update', options: { type: 'kill', runningPod }, firstSight: false };
const told = (): void => undefined;
const killWith = (kill: KillPodOptions): PodEvent => update({ type: 'kill', kill });
const deleting = testPod({ uid: 'u', deletionGracePeriodSeconds: 10 });

interface Row {
  readonly edge: string;
  readonly says: string;
  readonly from: PodState;
  readonly event: PodEvent;
  /** Members of the next state; `undefined`: forgotten. */
  readonly to: Partial<TerminatingState | TerminatedState | FinishedState | SyncState> | undefined;
  readonly effects: readonly string[];
}

const turn: PodEvent = { type: 'turn', gate: 'start' };
const orphan: PodEvent = { type: 'swept', orphan: true };

const rows: readonly Row[] = [
  {
    edge: 'T1',
    says: 'a live pod at first sight waits for its turn',
    from: unstarted,
    event: update({ type: 'create' }, true),
    to: { phase: 'sync', working: true },
    effects: ['wake'],
  },
  {
    edge: 'T1',
    says: 'and starts with it',
    from: { ...unstarted, pending: podWork },
    event: turn,
    to: { startedAt: now, pending: undefined, active },
    effects: ['run sync'],
  },
  {
    edge: 'T2',
    says: 'one that has ended is only cleaned up',
    from: firstStateOfEnded('u_ns', now),
    event: update({ type: 'create', pod: testPod({ uid: 'u', phase: 'Failed' }) }, true),
    to: { phase: 'terminated', startedTerminating: true, terminatedAt: now },
    effects: ['wake'],
  },
  {
    edge: 'T3',
    says: 'a terminal phase ends it',
    from: unstarted,
    event: update({ pod: testPod({ uid: 'u', phase: 'Succeeded' }) }, true),
    to: { phase: 'terminating', deleted: false, terminatingAt: now },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T4',
    says: 'a deletion time ends it',
    from: unstarted,
    event: update({ pod: deleting }, true),
    to: { phase: 'terminating', deleted: true, gracePeriodSeconds: 10 },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T4',
    says: 'a static one that never may start is over',
    from: { ...terminating, startedAt: undefined, pending: podWork, notify: [told] },
    event: { type: 'turn', gate: 'never' },
    to: {
      phase: 'finished',
      terminatedAt: now,
      pending: undefined,
      notify: [told],
      startedTerminating: false,
    },
    effects: ['abandon 1', 'retire'],
  },
  {
    edge: 'T5',
    says: 'what only the runtime knows is killed',
    from: unstarted,
    event: { ...runtimeKill, firstSight: true },
    to: { phase: 'terminating', deleted: true, observedRuntime: true, gracePeriodSeconds: 1 },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T5',
    says: 'without ever starting',
    from: { ...terminating, startedAt: undefined, pending: runtimeWork },
    event: turn,
    to: { startedAt: undefined },
    effects: ['run terminating'],
  },
  {
    edge: 'T7',
    says: 'an update waits for its turn',
    from: sync,
    event: update({ type: 'sync' }),
    to: { phase: 'sync', working: true },
    effects: ['wake'],
  },
  {
    edge: 'T7',
    says: 'a kill option in an update that is no kill is settled (R97)',
    from: sync,
    event: update({ kill: { completed: told } }),
    to: { phase: 'sync' },
    effects: ['settle 1', 'wake'],
  },
  {
    edge: 'T8',
    says: 'a deletion time cancels',
    from: sync,
    event: update({ pod: deleting }),
    to: { phase: 'terminating', deleted: true },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T8',
    says: 'an eviction',
    from: sync,
    event: killWith({ evict: true, gracePeriodSeconds: 2 }),
    to: { phase: 'terminating', evicted: true, gracePeriodSeconds: 2 },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T8',
    says: 'a plain kill',
    from: sync,
    event: killWith({ completed: told }),
    to: { phase: 'terminating', evicted: false, gracePeriodSeconds: 30, notify: [told] },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T8',
    says: 'a kill from the runtime counts as deletion (R91)',
    from: sync,
    event: runtimeKill,
    to: { phase: 'terminating', deleted: true, observedRuntime: true },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T9',
    says: 'it ended by itself',
    from: { ...sync, working: true },
    event: { type: 'ended' },
    to: { phase: 'terminating', startedTerminating: true, gracePeriodSeconds: 0, pending: active },
    effects: ['wake'],
  },
  {
    edge: 'T9',
    says: 'though its end was requested meanwhile (R115)',
    from: terminating,
    event: { type: 'ended' },
    to: { phase: 'terminating', terminatingAt: 3000, startedTerminating: true },
    effects: ['wake'],
  },
  {
    edge: 'T10',
    says: 'a create asks for a restart only',
    from: terminating,
    event: update({ type: 'create' }),
    to: { phase: 'terminating', restartRequested: true, pending: undefined },
    effects: [],
  },
  {
    edge: 'T11',
    says: 'less grace cancels',
    from: terminating,
    event: killWith({ gracePeriodSeconds: 5 }),
    to: { gracePeriodSeconds: 5 },
    effects: ['wake', 'cancel'],
  },
  {
    edge: 'T12',
    says: 'more grace does not',
    from: terminating,
    event: killWith({ gracePeriodSeconds: 50 }),
    to: { gracePeriodSeconds: 30 },
    effects: ['wake'],
  },
  {
    edge: 'T12',
    says: 'a later deletion does not change the reason (R94)',
    from: { ...terminating, evicted: true },
    event: update({ pod: testPod({ uid: 'u', deletionGracePeriodSeconds: 60 }) }),
    to: { evicted: true, deleted: false },
    effects: ['wake'],
  },
  {
    edge: 'T13',
    says: 'after a failed step it is idle',
    from: { ...terminating, working: true },
    event: { type: 'stepDone' },
    to: { phase: 'terminating', working: false },
    effects: [],
  },
  {
    edge: 'T13',
    says: 'unless an update waits',
    from: { ...terminating, working: true, pending: podWork },
    event: { type: 'stepDone' },
    to: { working: true },
    effects: ['wake'],
  },
  {
    edge: 'T14',
    says: 'no container runs: killers are told, the clean-up follows',
    from: { ...terminating, notify: [told, told] },
    event: { type: 'stopped' },
    to: { phase: 'terminated', terminatedAt: now, notify: [], pending: active },
    effects: ['settle 2', 'wake'],
  },
  {
    edge: 'T14',
    says: 'a newer update goes first (R116)',
    from: { ...terminating, pending: podWork },
    event: { type: 'stopped' },
    to: { phase: 'terminated', pending: podWork },
    effects: [],
  },
  {
    edge: 'T15',
    says: 'an old listing is ignored',
    from: terminated,
    event: runtimeKill,
    to: { phase: 'terminated', observedRuntime: true, pending: undefined },
    effects: [],
  },
  {
    edge: 'T16',
    says: 'a kill is told at once and cleans up again',
    from: terminated,
    event: killWith({ completed: told }),
    to: { phase: 'terminated', working: true },
    effects: ['settle 1', 'wake'],
  },
  {
    edge: 'T17',
    says: 'cleaned up',
    from: { ...terminated, working: true },
    event: { type: 'cleanedUp' },
    to: { phase: 'finished', working: false },
    effects: ['retire'],
  },
  {
    edge: 'T18',
    says: 'a create asks for a restart',
    from: finished,
    event: update({ type: 'create' }),
    to: { phase: 'finished', restartRequested: true },
    effects: [],
  },
  {
    edge: 'T19',
    says: 'anything else is ignored',
    from: finished,
    event: killWith({ completed: told }),
    to: { phase: 'finished', restartRequested: false },
    effects: ['abandon 1'],
  },
  {
    edge: 'T20',
    says: 'housekeeping forgets it',
    from: finished,
    event: orphan,
    to: undefined,
    effects: ['retire'],
  },
  {
    edge: 'T21',
    says: 'a held name: the update keeps waiting',
    from: { ...unstarted, working: true, pending: podWork },
    event: { type: 'turn', gate: 'wait' },
    to: { pending: podWork, working: false, startedAt: undefined },
    effects: [],
  },
  {
    edge: 'T22',
    says: 'an orphan that never started',
    from: unstarted,
    event: orphan,
    to: undefined,
    effects: ['retire'],
  },
  {
    edge: 'T22',
    says: 'and was to be killed: its killers are given up',
    from: { ...terminating, startedAt: undefined, notify: [told] },
    event: orphan,
    to: undefined,
    effects: ['abandon 1', 'retire'],
  },
  {
    edge: 'T23',
    says: 'an orphan that started',
    from: sync,
    event: orphan,
    to: { phase: 'terminating', deleted: true, gracePeriodSeconds: 30, pending: active },
    effects: ['wake'],
  },
  {
    edge: 'T23',
    says: 'an orphan that is ending tries again',
    from: terminating,
    event: orphan,
    to: { phase: 'terminating', deleted: true, pending: active },
    effects: ['wake'],
  },
  {
    edge: 'T23',
    says: 'one that is not an orphan is waited for (R125)',
    from: terminating,
    event: { type: 'swept', orphan: false },
    to: { phase: 'terminating', deleted: false, pending: undefined },
    effects: [],
  },
  {
    edge: 'T24',
    says: 'only the runtime knew it, and it is stopped',
    from: { ...terminating, notify: [told] },
    event: { type: 'runtimePodStopped' },
    to: undefined,
    effects: ['abandon 1', 'retire'],
  },
  {
    edge: 'R114',
    says: 'the first container-stopping step is noted',
    from: terminating,
    event: { type: 'terminatingStarted' },
    to: { startedTerminating: true },
    effects: [],
  },
  {
    edge: 'R119',
    says: 'a turn without an update ends the work',
    from: { ...sync, working: true },
    event: turn,
    to: { working: false },
    effects: [],
  },
];

test.for(rows)('$edge $says', ({ from, event, to, effects }) => {
  const [next, done] = transition(from, event, now);
  if (to) expect(next).toMatchObject(to);
  else expect(next).toBeUndefined();
  expect(done.map((effect) => words(effect))).toEqual(effects);
});

function words(effect: ReturnType<typeof transition>[1][number]): string {
  if (effect.type === 'run') return `run ${effect.step}`;
  return 'completions' in effect ? `${effect.type} ${effect.completions.length}` : effect.type;
}

const impossible: readonly { readonly from: PodState; readonly event: PodEvent }[] = [
  { from: terminated, event: { type: 'ended' } },
  { from: sync, event: { type: 'stopped' } },
  { from: sync, event: { type: 'cleanedUp' } },
  { from: terminating, event: { type: 'cleanedUp' } },
  { from: sync, event: { type: 'terminatingStarted' } },
  { from: { ...terminating, startedTerminating: true }, event: { type: 'terminatingStarted' } },
];

test.for(impossible)('$event.type changes nothing in $from.phase', ({ from, event }) => {
  const [next, effects] = transition(from, event, now);
  expect(next).toBe(from);
  expect(effects).toEqual([]);
});

test('a state is never written to', () => {
  for (const { from, event } of rows) {
    const before = structuredClone({ ...from, notify: [], statusFns: [] });
    transition(Object.freeze(from), event, now);
    expect({ ...from, notify: [], statusFns: [] }).toEqual(before);
  }
});

test('of two start times the earlier counts, an update without one discards it (R87)', () => {
  const at = (startTime?: number) => update(startTime === undefined ? {} : { startTime });
  const startTimeAfter = (first: number | undefined, second: number | undefined) => {
    const [next] = transition(sync, at(first), now);
    return next && transition(next, at(second), now)[0]?.pending?.startTime;
  };
  expect(startTimeAfter(10, 20)).toBe(10);
  expect(startTimeAfter(20, 10)).toBe(10);
  expect(startTimeAfter(10, undefined)).toBeUndefined();
  expect(startTimeAfter(undefined, 20)).toBe(20);
});

test('what was taken adds up for replays (R86)', () => {
  const mirrorPod = testPod({ uid: 'm' });
  const first = mergeWork(undefined, {
    ...podWork,
    mirrorPod,
    startTime: 1,
    kill: { evict: true, gracePeriodSeconds: 5, statusFn: (s) => s },
  });
  expect(first).toEqual({
    ...podWork,
    type: 'sync',
    mirrorPod,
    kill: { evict: true, gracePeriodSeconds: 5 },
  });
  expect(mergeWork(first, podWork)).toEqual(first);
  expect(mergeWork(first, { ...podWork, kill: { gracePeriodSeconds: 3 } }).kill).toEqual({
    gracePeriodSeconds: 3,
  });
  expect(mergeWork(undefined, runtimeWork)).toMatchObject({ type: 'sync', pod: undefined, runningPod });
});

test('idle is what has no running container and no ready sandbox (R90)', () => {
  const sandbox = { id: 's', attempt: 0, createdAt: 0, networkMode: 'POD' } as const;
  expect(isRuntimeIdle(emptyStatus('u'))).toBe(true);
  expect(
    isRuntimeIdle({ ...emptyStatus('u'), sandboxStatuses: [{ ...sandbox, state: 'SANDBOX_NOTREADY' }] }),
  ).toBe(true);
  expect(
    isRuntimeIdle({ ...emptyStatus('u'), sandboxStatuses: [{ ...sandbox, state: 'SANDBOX_READY' }] }),
  ).toBe(false);
});
