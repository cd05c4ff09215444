import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { WorkQueue } from '../../src/base/work-queue.ts';

const forever = new AbortController().signal;

test('an item waits once, and comes again when it was added while worked on', async () => {
  const queue = new WorkQueue<string>(new FakeClock());
  queue.add('a');
  queue.add('a');
  expect(queue.length).toBe(1);
  expect(await queue.take()).toBe('a');
  queue.add('a');
  queue.add('a');
  expect([queue.length, queue.inFlight]).toEqual([0, 1]);
  queue.done('a');
  expect([queue.length, queue.inFlight]).toEqual([1, 0]);
});

test('the highest priority goes first, equals in the order of their coming, and a raise counts', async () => {
  const queue = new WorkQueue<string>(new FakeClock());
  queue.add('a');
  queue.add('b', { priority: 1 });
  queue.add('c');
  queue.add('c', { priority: 2 });
  queue.add('d');
  const order = [];
  for (let i = 0; i < 4; i++) order.push(await queue.take());
  expect(order).toEqual(['c', 'b', 'a', 'd']);
  expect(queue.length).toBe(0);
});

test('a delayed item comes when it is due, and the earlier of two times wins', async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>(clock);
  queue.add('a', { afterMs: 100 });
  queue.add('a', { afterMs: 50 });
  queue.add('a', { afterMs: 80 });
  await clock.advance(49);
  expect([queue.length, queue.delayed]).toEqual([0, 1]);
  await clock.advance(1);
  expect([queue.length, queue.delayed]).toEqual([1, 0]);
  await clock.advance(100);
  expect(queue.length).toBe(1);
});

test('failures back off by item: 5 ms doubling, until forgotten', async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>(clock, { qps: 0 });
  const waits: number[] = [];
  for (let i = 0; i < 4; i++) {
    const from = clock.now();
    queue.addRateLimited('a');
    while (queue.length === 0) await clock.advance(1);
    waits.push(clock.now() - from);
    queue.done((await queue.take()) ?? '');
  }
  expect(waits).toEqual([5, 10, 20, 40]);
  expect(queue.failures('a')).toBe(4);
  queue.forget('a');
  expect(queue.failures('a')).toBe(0);
});

test('over all items the rate holds after the burst', async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue<number>(clock, { qps: 10, burst: 3, baseDelayMs: 1 });
  for (let i = 0; i < 6; i++) queue.addRateLimited(i);
  await clock.advance(1);
  expect(queue.length).toBe(3);
  await clock.advance(100);
  expect(queue.length).toBe(4);
  await clock.advance(200);
  expect(queue.length).toBe(6);
});

test('workers retry what throws and never work on one item twice at once', async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>(clock);
  const calls: string[] = [];
  let busy = 0;
  const stop = new AbortController();
  const running = queue.run(
    3,
    async (key) => {
      expect(++busy).toBeLessThanOrEqual(2);
      calls.push(key);
      await clock.sleep(10);
      busy--;
      if (calls.length === 1) throw new Error('once');
    },
    stop.signal,
  );
  queue.add('a');
  queue.add('b');
  await clock.advance(5);
  queue.add('a');
  await clock.advance(100);
  expect(calls.filter((key) => key === 'a').length).toBeGreaterThanOrEqual(2);
  expect(queue.failures('a')).toBe(0);
  stop.abort();
  await running;
});

test('draining waits for what waits and what is worked on, and takes nothing in', async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>(clock);
  const seen: string[] = [];
  queue.add('a');
  queue.add('b');
  queue.add('late', { afterMs: 1000 });
  const running = queue.run(
    1,
    async (key) => {
      await clock.sleep(10);
      seen.push(key);
    },
    forever,
  );
  let drained = false;
  void queue.drain().then(() => (drained = true));
  queue.add('c');
  await clock.advance(15);
  expect(drained).toBe(false);
  await clock.advance(10);
  await running;
  await settle();
  expect([drained, seen]).toEqual([true, ['a', 'b']]);
  expect(clock.pending).toBe(0);
});

test('a taker that gave up leaves the item to the next', async () => {
  const queue = new WorkQueue<string>(new FakeClock());
  const stop = new AbortController();
  const first = queue.take(stop.signal);
  const second = queue.take();
  stop.abort();
  queue.add('a');
  expect([await first, await second]).toEqual([undefined, 'a']);
});

test('metrics tell depth, waits, work and retries', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const queue = new WorkQueue<string>(clock, {
    metrics: {
      depth: (n) => told.push(`depth ${n}`),
      added: () => told.push('added'),
      waited: (ms) => told.push(`waited ${ms}`),
      worked: (ms) => told.push(`worked ${ms}`),
      retried: () => told.push('retried'),
    },
  });
  queue.add('a');
  await clock.advance(7);
  await queue.take();
  await clock.advance(3);
  queue.done('a');
  queue.addRateLimited('a');
  expect(told).toEqual(['added', 'depth 1', 'waited 7', 'depth 0', 'worked 3', 'retried']);
});
