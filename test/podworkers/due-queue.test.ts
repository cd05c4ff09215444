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

test('has work once the earliest pod is due, also after others were taken or postponed', () => {
  const clock = new FakeClock();
  const queue = new DueQueue(clock);
  expect(queue.hasWork()).toBe(false);
  queue.enqueue('late', 3000);
  queue.enqueue('early', 1000);
  clock.set(1000);
  expect(queue.hasWork()).toBe(false);
  clock.set(1001);
  expect(queue.hasWork()).toBe(true);
  expect(queue.getWork()).toEqual(['early']);
  expect(queue.hasWork()).toBe(false);
  clock.set(3001);
  expect(queue.hasWork()).toBe(true);
  queue.enqueue('late', 5000);
  expect(queue.getWork()).toEqual([]);
  expect(queue.hasWork()).toBe(false);
  clock.set(8002);
  expect(queue.getWork()).toEqual(['late']);
});
