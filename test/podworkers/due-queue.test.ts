import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { DueQueue } from '../../src/podworkers/due-queue.ts';

test('due is what lies strictly in the past, once (R45)', () => {
  const clock = new FakeClock();
  const queue = new DueQueue(clock);
  queue.enqueue('a', 0);
  queue.enqueue('b', 1000);
  expect(queue.getWork()).toEqual([]);
  clock.set(1000);
  expect(queue.getWork()).toEqual(['a']);
  clock.set(1001);
  expect(queue.getWork()).toEqual(['b']);
  expect(queue.size).toBe(0);
});

test('a later word may postpone (R45)', () => {
  const clock = new FakeClock();
  const queue = new DueQueue(clock);
  queue.enqueue('a', 10);
  queue.enqueue('a', 1000);
  clock.set(500);
  expect(queue.getWork()).toEqual([]);
});

test('a forgotten pod is not due', () => {
  const clock = new FakeClock();
  const queue = new DueQueue(clock);
  queue.enqueue('a', 0);
  queue.forget('a');
  clock.set(1);
  expect(queue.getWork()).toEqual([]);
});
