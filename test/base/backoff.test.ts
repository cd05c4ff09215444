import { expect, test } from 'vitest';
import { Backoff, crashLoopBackoff } from '../../src/base/backoff.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';

test('crashes: 10 s, doubling to 5 min', () => {
  const clock = new FakeClock();
  const backoff = new Backoff(clock, crashLoopBackoff);
  const delays = Array.from({ length: 7 }, () => {
    expect(backoff.tryRestart('k', clock.now() - 300_000)).toBeUndefined(); // it ended long ago
    const delayMs = backoff.get('k');
    clock.set(clock.now() + 300_000);
    return delayMs;
  });
  expect(delays).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test('in back-off the answer is when it ends', () => {
  const clock = new FakeClock(50_000);
  const backoff = new Backoff(clock, crashLoopBackoff);
  backoff.next('k', 50_000);
  clock.set(53_000);
  expect(backoff.tryRestart('k', 51_000)).toBe(61_000);
  expect(backoff.get('k')).toBe(10_000);
});

test('what ended more than 10 min after the last step begins anew', () => {
  const clock = new FakeClock();
  const backoff = new Backoff(clock, crashLoopBackoff);
  backoff.next('k', 0);
  backoff.next('k', 600_000);
  expect(backoff.get('k')).toBe(20_000);
  backoff.next('k', 600_001);
  expect(backoff.get('k')).toBe(10_000);
});

test('a key that was reset or not used for long is gone', () => {
  const clock = new FakeClock();
  const backoff = new Backoff(clock, { initialMs: 10, maxMs: 100 });
  backoff.next('a', 0);
  backoff.next('b', 0);
  backoff.reset('a');
  expect(backoff.get('a')).toBe(0);
  clock.set(200);
  backoff.gc();
  expect(backoff.get('b')).toBe(10);
  clock.set(201);
  backoff.gc();
  expect(backoff.get('b')).toBe(0);
});
