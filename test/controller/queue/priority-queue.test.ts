import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import {
  type QueueMetrics,
  PriorityQueue,
  type Taken,
} from '../../../src/controller/queue/priority-queue.ts';
import {
  defaultControllerRateLimiter,
  exponentialFailureRateLimiter,
  type RateLimiter,
} from '../../../src/controller/queue/rate-limiter.ts';
import type { Request } from '../../../src/controller/types.ts';

const of = (name: string): Request => ({ namespace: 'default', name });

function setUp(options: { rateLimiter?: RateLimiter; usePriority?: boolean } = {}) {
  const clock = new FakeClock(1_000);
  const seen = {
    depth: new Map<number, number>(),
    adds: 0,
    retries: 0,
    waited: [] as number[],
    worked: [] as number[],
  };
  const metrics: QueueMetrics = {
    depth: (priority, change) => seen.depth.set(priority, (seen.depth.get(priority) ?? 0) + change),
    added: () => seen.adds++,
    waited: (ms) => seen.waited.push(ms),
    worked: (ms) => seen.worked.push(ms),
    retried: () => seen.retries++,
  };
  const queue = new PriorityQueue({
    clock,
    metrics,
    rateLimiter: exponentialFailureRateLimiter(),
    ...options,
  });
  const names: string[] = [];
  /** Takes `count` requests; each is noted in `names` and stays locked. */
  const take = async (count = 1): Promise<Taken[]> => {
    const all: Taken[] = [];
    for (let i = 0; i < count; i++) {
      const taken = await queue.take();
      if (taken) {
        names.push(taken.request.name);
        all.push(taken);
      }
    }
    return all;
  };
  return { clock, queue, seen, names, take };
}

describe('queue', () => {
  test('1 an item is returned', async () => {
    const { queue, take } = setUp();
    queue.add(of('a'));
    expect((await take())[0]?.request).toEqual(of('a'));
    expect(queue.length).toBe(0);
  });

  test('2 items of one priority are returned in the order of their coming', async () => {
    const { queue, take, names } = setUp();
    queue.addWithOpts({}, of('a'), of('b'));
    queue.add(of('c'));
    await take(3);
    expect(names).toEqual(['a', 'b', 'c']);
  });

  test('3 an item that is worked on is not returned a second time', async () => {
    const { queue, take, names } = setUp();
    queue.add(of('a'));
    await take();
    queue.add(of('a'));
    queue.add(of('b'));
    await take();
    expect(names).toEqual(['a', 'b']);
  });

  test('4 an item that was added during the work is returned as soon as the work is done', async () => {
    const { queue, take, names } = setUp();
    queue.add(of('a'));
    await take();
    queue.add(of('a'));
    const waiting = take();
    await settle();
    expect(names).toEqual(['a']);
    queue.done(of('a'));
    await waiting;
    expect(names).toEqual(['a', 'a']);
  });

  test('5 an item that waits is not queued twice', async () => {
    const { queue, seen } = setUp();
    queue.add(of('a'));
    queue.add(of('a'));
    queue.addWithOpts({}, of('a'), of('a'));
    expect(queue.length).toBe(1);
    expect(seen.adds).toBe(1);
  });

  test('6 adds of one turn are de-duplicated before a waiting worker is served', async () => {
    const { queue, take, names } = setUp();
    const waiting = take(2);
    await settle();
    queue.add(of('a'));
    queue.add(of('a'));
    queue.addWithOpts({ priority: 5 }, of('b'));
    await waiting;
    expect(names).toEqual(['b', 'a']);
    expect(queue.length).toBe(0);
  });

  test('7 the highest of several priorities is retained', async () => {
    const { queue, take } = setUp();
    queue.addWithOpts({ priority: 1 }, of('a'));
    queue.addWithOpts({ priority: 2 }, of('a'));
    expect((await take())[0]?.priority).toBe(2);
  });

  test('8 a lower priority does not replace a higher one', async () => {
    const { queue, take } = setUp();
    queue.addWithOpts({ priority: 2 }, of('a'));
    queue.addWithOpts({ priority: 1 }, of('a'));
    expect((await take())[0]?.priority).toBe(2);
  });

  test('9 a raised item moves forward, to the end of those with its new priority', async () => {
    const { queue, take, names } = setUp();
    queue.addWithOpts({}, of('a'), of('b'));
    queue.addWithOpts({ priority: 1 }, of('c'));
    queue.addWithOpts({ priority: 1 }, of('b'));
    await take(3);
    expect(names).toEqual(['c', 'b', 'a']);
  });

  test('10 the shorter of two delays is retained', async () => {
    const { queue, clock, take, names } = setUp();
    queue.addAfter(of('a'), 200);
    queue.addAfter(of('a'), 100);
    queue.addAfter(of('a'), 300);
    const waiting = take();
    await clock.advance(99);
    expect(names).toEqual([]);
    await clock.advance(1);
    await waiting;
    await clock.advance(1000);
    expect(queue.length).toBe(0);
  });

  test('11 items that are not due do not count in the length', async () => {
    const { queue, clock } = setUp();
    queue.addAfter(of('a'), 50);
    queue.add(of('b'));
    expect([queue.length, queue.delayed]).toEqual([1, 1]);
    await clock.advance(50);
    expect([queue.length, queue.delayed]).toEqual([2, 0]);
  });

  test('12 an item that waits for its time is returned at once when it is added without a delay', async () => {
    const { queue, take, names } = setUp();
    queue.addAfter(of('a'), 10_000);
    queue.add(of('a'));
    await take();
    expect(names).toEqual(['a']);
    expect([queue.length, queue.delayed]).toEqual([0, 0]);
  });

  test('13 delayed items are returned in the order in which they become due', async () => {
    const { queue, clock, take, names } = setUp();
    queue.addAfter(of('c'), 300);
    queue.addAfter(of('a'), 100);
    queue.addAfter(of('b'), 200);
    await clock.advance(300);
    await take(3);
    expect(names).toEqual(['a', 'b', 'c']);
  });

  test('14 an item is ordered by when it became due, not by when it was added', async () => {
    const { queue, clock, take, names } = setUp();
    queue.addAfter(of('late'), 100);
    queue.add(of('early'));
    await clock.advance(100);
    await take(2);
    expect(names).toEqual(['early', 'late']);
  });

  test('15 a high-priority item that becomes due goes before low-priority items that waited', async () => {
    const { queue, clock, take, names } = setUp();
    queue.addWithOpts({ priority: -1 }, of('low'));
    queue.addWithOpts({ after: 10, priority: 1 }, of('high'));
    await clock.advance(10);
    await take(2);
    expect(names).toEqual(['high', 'low']);
  });

  test('16 a delay during the work is counted from its addition', async () => {
    const { queue, clock, take, names } = setUp();
    queue.add(of('a'));
    await take();
    queue.addAfter(of('a'), 100);
    await clock.advance(100);
    expect([queue.length, names]).toEqual([1, ['a']]);
    const waiting = take();
    await settle();
    expect(names).toEqual(['a']);
    queue.done(of('a'));
    await waiting;
    expect(names).toEqual(['a', 'a']);
  });

  test('17 a rate-limited item doubles its delay until it is forgotten', async () => {
    const { queue, clock, take } = setUp();
    const delays: number[] = [];
    const measure = async (): Promise<void> => {
      queue.addRateLimited(of('a'));
      const since = clock.steady();
      while (queue.length === 0) await clock.advance(1);
      delays.push(clock.steady() - since);
      await take();
      queue.done(of('a'));
    };
    for (let i = 0; i < 4; i++) await measure();
    expect(queue.numRequeues(of('a'))).toBe(4);
    queue.forget(of('a'));
    expect(queue.numRequeues(of('a'))).toBe(0);
    await measure();
    expect(delays).toEqual([5, 10, 20, 40, 5]);
  });

  test('18 several items that are rate limited together do not affect each other', async () => {
    const { queue, clock } = setUp();
    queue.addRateLimited(of('a'));
    queue.addRateLimited(of('a'));
    queue.addWithOpts({ rateLimited: true }, of('b'), of('c'));
    await clock.advance(5);
    expect(queue.length).toBe(3);
  });

  test('19 of a delay and the rate limit the shorter applies', async () => {
    const { queue, clock } = setUp();
    queue.addWithOpts({ rateLimited: true, after: 3 }, of('a'));
    queue.addWithOpts({ rateLimited: true, after: 100 }, of('b'));
    await clock.advance(3);
    expect(queue.length).toBe(1);
    await clock.advance(2);
    expect(queue.length).toBe(2);
  });

  test('20 shutting down releases those who wait, and accepts and returns nothing more', async () => {
    const { queue, clock } = setUp();
    const waiting = queue.take();
    queue.addAfter(of('late'), 10);
    await settle();
    queue.shutDown();
    expect(await waiting).toBeUndefined();
    queue.add(of('a'));
    await clock.advance(10);
    expect([queue.length, queue.delayed, await queue.take(), queue.shuttingDown]).toEqual([
      0,
      0,
      undefined,
      true,
    ]);
    expect(clock.pending).toBe(0);
  });

  test('21 the work that runs at a shut-down can still be marked as done', async () => {
    const { queue, take, seen } = setUp();
    queue.add(of('a'));
    await take();
    queue.add(of('a'));
    queue.shutDown();
    queue.done(of('a'));
    expect([queue.inFlight, seen.depth.get(0), await queue.take()]).toEqual([0, 0, undefined]);
  });

  test('22 the depth by priority follows items that become due, are raised and are taken', async () => {
    const { queue, clock, take, seen } = setUp();
    queue.addWithOpts({ priority: 1 }, of('a'));
    queue.addWithOpts({ after: 10, priority: 1 }, of('b'));
    expect(seen.depth.get(1)).toBe(1);
    queue.addWithOpts({ priority: 2 }, of('a'));
    expect([seen.depth.get(1), seen.depth.get(2)]).toEqual([0, 1]);
    await clock.advance(10);
    expect(seen.depth.get(1)).toBe(1);
    await take(2);
    expect([...seen.depth.values()]).toEqual([0, 0]);
    expect([seen.adds, seen.retries]).toEqual([2, 1]);
  });

  test('23 an item that waited for its time and is added without a delay counts once', async () => {
    const { queue, clock, seen } = setUp();
    queue.addAfter(of('a'), 10);
    queue.addWithOpts({ priority: 3 }, of('a'));
    await clock.advance(10);
    expect([seen.adds, seen.depth.get(3), seen.depth.get(0)]).toEqual([1, 1, undefined]);
  });

  test('24 the latency starts when an item becomes due, and the work when it is taken', async () => {
    const { queue, clock, take, seen } = setUp();
    queue.addAfter(of('a'), 100);
    await clock.advance(130);
    await take();
    expect(queue.runningMs()).toEqual([0]);
    await clock.advance(40);
    expect(queue.runningMs()).toEqual([40]);
    queue.done(of('a'));
    expect([seen.waited, seen.worked, queue.runningMs()]).toEqual([[30], [40], []]);
  });

  test('25 without priorities the order of coming counts alone', async () => {
    const { queue, take, names } = setUp({ usePriority: false });
    queue.addWithOpts({ priority: -100 }, of('a'));
    queue.addWithOpts({ priority: 7 }, of('b'));
    await take(2);
    expect(names).toEqual(['a', 'b']);
  });

  test('26 a jump of the wall clock changes no delay', async () => {
    const { queue, clock } = setUp();
    queue.addAfter(of('a'), 1000);
    clock.jump(-3_600_000);
    await clock.advance(999);
    expect(queue.length).toBe(0);
    clock.jump(86_400_000);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  test('27 the causes are collected until the item is taken: of more than 32 the newest', async () => {
    const { queue, clock, take } = setUp();
    queue.addWithOpts({ cause: { type: 'create', source: 's' } }, of('a'));
    await clock.advance(1);
    queue.addWithOpts({ cause: { type: 'update', source: 's' } }, of('a'));
    const [first] = await take();
    expect(first?.causes.map(({ type, at }) => [type, at])).toEqual([
      ['create', 1000],
      ['update', 1001],
    ]);
    for (let i = 0; i < 40; i++) queue.addWithOpts({ cause: { type: 'update', source: `s${i}` } }, of('a'));
    queue.done(of('a'));
    const [second] = await take();
    expect(second?.causes).toHaveLength(32);
    expect([second?.causes[0]?.source, second?.causes[31]?.source]).toEqual(['s8', 's39']);
  });

  test('28 one timer serves all delayed items', () => {
    const { queue, clock } = setUp();
    for (let i = 0; i < 1000; i++) queue.addAfter(of(`a${i}`), 1000 - i);
    expect(clock.pending).toBe(1);
  });

  test('29 of many items each is returned once', async () => {
    const { queue, take, names } = setUp();
    for (let i = 0; i < 1000; i++) queue.addWithOpts({ priority: i % 7 }, of(`a${i}`));
    await take(1000);
    expect(new Set(names).size).toBe(1000);
  });

  test('30 no sequence of calls loses an item, returns one twice or upsets the order (properties)', async () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      act: fc.constantFrom('add', 'after', 'limited', 'take', 'done', 'time'),
      ms: fc.integer({ min: 1, max: 50 }),
      priority: fc.integer({ min: -2, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue, clock, seen } = setUp();
        const locked = new Set<string>();
        const wanted = new Set<string>();
        for (const { name, act, ms, priority } of steps) {
          if (act === 'add') queue.addWithOpts({ priority }, of(name));
          if (act === 'after') queue.addWithOpts({ after: ms, priority }, of(name));
          if (act === 'limited') queue.addWithOpts({ rateLimited: true, priority }, of(name));
          if (['add', 'after', 'limited'].includes(act)) wanted.add(name);
          if (act === 'time') await clock.advance(ms);
          if (act === 'done' && locked.delete(name)) queue.done(of(name));
          if (act !== 'take') continue;
          const taken = await Promise.race([queue.take(), settle()]);
          if (!taken) {
            // that worker goes home: a new queue state needs no takers
            queue.shutDown();
            return;
          }
          expect(locked.has(taken.request.name)).toBe(false);
          expect(wanted.delete(taken.request.name)).toBe(true);
          locked.add(taken.request.name);
        }
        for (const name of locked) queue.done(of(name));
        await clock.advance(2 ** 20);
        expect(queue.length).toBe(wanted.size);
        const last: number[] = [];
        for (const name of [...wanted]) {
          const taken = await queue.take();
          expect(wanted.delete(taken?.request.name ?? name)).toBe(true);
          last.push(taken?.priority ?? NaN);
        }
        expect(last).toEqual([...last].sort((a, b) => b - a));
        expect([...seen.depth.values()].every((depth) => depth === 0)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('31 the limiter of controllers lets 100 through at once and 10 per second from then on', () => {
    const clock = new FakeClock();
    const limiter = defaultControllerRateLimiter(clock);
    const delays = Array.from({ length: 120 }, (_, i) => limiter.when(of(`a${i}`)));
    expect(delays.slice(0, 100).every((ms) => ms === 5)).toBe(true);
    expect(delays.slice(100, 103)).toEqual([100, 200, 300]);
  });

  test('32 the delay of a request ends at 1,000 s', () => {
    const limiter = exponentialFailureRateLimiter();
    const delays = Array.from({ length: 2000 }, () => limiter.when(of('a')));
    expect(delays.slice(16, 19)).toEqual([327_680, 655_360, 1_000_000]);
    expect(delays.at(-1)).toBe(1_000_000);
  });
});
