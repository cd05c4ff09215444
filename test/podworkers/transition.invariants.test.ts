import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fullNameOf, uidOf } from '../../src/kube/names.ts';
import type { PodState } from '../../src/podworkers/state.ts';
import type { UpdateType } from '../../src/podworkers/updates.ts';
import { type Ending, testPod, WorkersBench } from './bench.ts';

const uids = ['api', 'static-1', 'static-2'] as const;
type Uid = (typeof uids)[number];

type Action =
  | {
      readonly do: 'update';
      readonly uid: Uid;
      readonly type: UpdateType;
      readonly shape: Shape;
      readonly kill: Kill | undefined;
    }
  | { readonly do: 'runtimeKill'; readonly uid: Uid; readonly kill: Kill | undefined }
  | { readonly do: 'turn'; readonly uid: Uid }
  | { readonly do: 'finish'; readonly uid: Uid; readonly ending: Ending }
  | { readonly do: 'sweep'; readonly desired: readonly Uid[] }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'restart' };

interface Kill {
  readonly evict: boolean;
  readonly gracePeriodSeconds: number | undefined;
}

interface Shape {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly deletionGracePeriodSeconds: number | undefined;
}

const uid = fc.constantFrom(...uids);
const grace = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined });
const kill = fc.option(fc.record({ evict: fc.boolean(), gracePeriodSeconds: grace }), { nil: undefined });
const shape = fc.record<Shape>({
  phase: fc.constantFrom('Running', 'Running', 'Running', 'Pending', 'Succeeded', 'Failed'),
  // 0 is left out: with it the kubelet lets a grace of 1 s grow again (grace-period.test.ts)
  deletionGracePeriodSeconds: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 60 }) },
  ),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      uid,
      type: fc.constantFrom('create', 'update', 'sync', 'kill'),
      shape,
      kill,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('runtimeKill' as const), uid, kill }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('turn' as const), uid }) },
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      uid,
      ending: fc.constantFrom('ok', 'ok', 'terminal', 'error'),
    }),
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('sweep' as const), desired: fc.subarray([...uids]) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(120_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
);
const actions = fc.array(action, { minLength: 1, maxLength: 40 });

/** What one run has seen, checked after each action. */
class Witness {
  readonly bench: WorkersBench;
  /** Times each completion was called. */
  readonly settled: number[] = [];
  #last = new Map<string, PodState>();
  #calls = new Map<string, string>();
  #lost = new Set<number>();

  constructor(settleFinishedKills: boolean) {
    this.bench = new WorkersBench({ settleFinishedKills });
    this.bench.onStep = ({ uid: of, method }) => {
      const letter = {
        syncPod: 's',
        syncTerminatingPod: 't',
        syncTerminatingRuntimePod: 'r',
        syncTerminatedPod: 'd',
      };
      this.#calls.set(of, (this.#calls.get(of) ?? '') + letter[method]);
      expect(this.bench.workers.stateOf(of)?.phase, 'no call after finished').not.toBe('finished');
    };
  }

  #completion(): () => void {
    const id = this.settled.push(0) - 1;
    return () => {
      this.settled[id] = (this.settled[id] ?? 0) + 1;
    };
  }

  #killOptions(told: Kill | undefined) {
    if (!told) return {};
    const { evict, gracePeriodSeconds } = told;
    return {
      kill: {
        evict,
        completed: this.#completion(),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      },
    };
  }

  async act(next: Action): Promise<void> {
    const { bench } = this;
    switch (next.do) {
      case 'update':
        bench.workers.updatePod({
          type: next.type,
          pod: podOf(next.uid, next.shape),
          ...this.#killOptions(next.kill),
        });
        break;
      case 'runtimeKill':
        bench.workers.updatePod({
          type: 'kill',
          runningPod: {
            uid: next.uid,
            name: nameOf(next.uid),
            namespace: 'ns',
            containers: [],
            sandboxes: [],
          },
          ...this.#killOptions(next.kill),
        });
        break;
      case 'turn':
        await bench.turn(next.uid);
        break;
      case 'finish':
        await bench.finish(next.uid, next.ending);
        break;
      case 'sweep':
        bench.workers.syncKnownPods(next.desired.map((of) => podOf(of, running)));
        break;
      case 'advance':
        await bench.clock.advance(next.ms);
        break;
      case 'restart': {
        const open = [...bench.steps.values()];
        bench.restart();
        for (const step of open)
          expect(step.signal.aborted, 'a restart cancels what is in flight').toBe(true);
        this.settled.forEach((times, id) => times === 0 && this.#lost.add(id));
        this.#last.clear();
        this.#calls.clear();
      }
    }
    this.check();
  }

  check(): void {
    const { workers } = this.bench;
    for (const of of uids) {
      const before = this.#last.get(of);
      const now = workers.stateOf(of);
      if (now && before) expectForward(before, now);
      if (!now || (before && now.syncedAt < before.syncedAt)) this.#calls.delete(of);
      expect(this.#calls.get(of) ?? '', 'I3').toMatch(/^s*[rt]*d*$/);
      if (now) this.#last.set(of, now);
      else this.#last.delete(of);
    }
    const started = ['static-1', 'static-2'].filter((of) => {
      const state = workers.stateOf(of);
      return state?.startedAt !== undefined && state.phase !== 'finished' && state.active?.pod;
    });
    expect(started.length, 'I4').toBeLessThanOrEqual(1);
    for (const times of this.settled) expect(times, 'I6: never twice').toBeLessThanOrEqual(1);
    for (const ms of this.bench.delays) expect(ms, 'I10').toBeLessThanOrEqual(60_000 * 1.5);
  }

  /** Nobody wants anything any more and everything succeeds. */
  async end(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      this.bench.workers.syncKnownPods([]);
      await this.bench.drain();
      this.check();
    }
  }

  get unsettled(): number {
    return this.settled.filter((times, id) => times === 0 && !this.#lost.has(id)).length;
  }
}

const running: Shape = { phase: 'Running', deletionGracePeriodSeconds: undefined };
const nameOf = (of: Uid): string => (of === 'api' ? 'web' : 'etcd');

function podOf(of: Uid, { phase, deletionGracePeriodSeconds }: Shape) {
  return testPod({
    uid: of,
    name: nameOf(of),
    isStatic: of !== 'api',
    phase,
    ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
  });
}

const order = ['sync', 'terminating', 'terminated', 'finished'];

function expectForward(before: PodState, now: PodState): void {
  if (now.syncedAt !== before.syncedAt || order.indexOf(now.phase) < order.indexOf(before.phase)) return; // another life
  if (before.phase === 'sync' || now.phase === 'sync') return;
  expect(now.terminatingAt, 'termination is requested once').toBe(before.terminatingAt);
  if (before.gracePeriodSeconds === 0) return;
  expect(now.gracePeriodSeconds, 'I5').toBeLessThanOrEqual(before.gracePeriodSeconds);
  expect(now.gracePeriodSeconds, 'I5').toBeGreaterThanOrEqual(1);
}

test(
  'whatever happens in whatever order, the invariants hold and in the end nothing is left',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(actions, async (script) => {
        const witness = new Witness(true);
        for (const next of script) await witness.act(next);
        await witness.end();
        const { bench } = witness;
        expect(bench.workers.size, 'no worker').toBe(0);
        expect(bench.turns.size, 'no turn').toBe(0);
        expect(bench.steps.size, 'no step').toBe(0);
        expect(bench.clock.pending, 'no timer').toBe(0);
        expect([...bench.workers.staticPods.started], 'no claim').toEqual([]);
        expect(witness.unsettled, 'I6: every completion').toBe(0);
      }),
      { numRuns: 250 },
    );
  },
);

test(
  'as the kubelet, no completion settles twice even when some never do',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(actions, async (script) => {
        const witness = new Witness(false);
        for (const next of script) await witness.act(next);
        await witness.end();
        expect(witness.bench.workers.size).toBe(0);
      }),
      { numRuns: 100 },
    );
  },
);

test('transient failures only delay the end of an orphan (I7)', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<Ending>('error', 'error', 'ok'), { maxLength: 20 }),
      async (endings) => {
        const bench = new WorkersBench();
        const pod = podOf('api', running);
        bench.workers.updatePod({ type: 'create', pod });
        await bench.drain();
        for (const ending of endings) {
          bench.workers.syncKnownPods([]);
          await bench.turn(uidOf(pod));
          await bench.finish(uidOf(pod), ending);
        }
        bench.workers.syncKnownPods([]);
        await bench.drain();
        bench.workers.syncKnownPods([]);
        expect(bench.workers.stateOf(uidOf(pod))).toBeUndefined();
        expect(bench.workers.isPodForMirrorPodTerminatingByFullName(fullNameOf(pod))).toBe(false);
      },
    ),
    { numRuns: 50 },
  );
});
