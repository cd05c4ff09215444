import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { every, systemClock } from '../../src/base/clock.ts';

const days = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([30 * days, 365 * days, 2 ** 31, 50])('a timer of %d ms fires after that, and not before', (ms) => {
  const fired = vi.fn();
  systemClock.timer(ms, fired);
  vi.advanceTimersByTime(ms - 1);
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fired).toHaveBeenCalledOnce();
});

test('a timer of more days than Node takes can be stopped in each part of it, and one without end never fires', () => {
  const fired = vi.fn();
  const stop = systemClock.timer(60 * days, fired);
  vi.advanceTimersByTime(50 * days);
  stop();
  systemClock.timer(Infinity, fired);
  vi.advanceTimersByTime(400 * days);
  expect(fired).not.toHaveBeenCalled();
});

test('a sleep of more days than Node takes lasts as long, and ends early with the reason of who aborts it', async () => {
  const ended = vi.fn();
  void systemClock.sleep(30 * days).then(ended);
  await vi.advanceTimersByTimeAsync(30 * days - 1);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toHaveBeenCalledOnce();

  const abort = new AbortController();
  const why = new Error('enough');
  const sleep = systemClock.sleep(30 * days, abort.signal);
  abort.abort(why);
  await expect(sleep).rejects.toBe(why);
  expect(vi.getTimerCount()).toBe(0);
  await expect(systemClock.sleep(1, abort.signal)).rejects.toBe(why);
});

test('every: work repeats until it is stopped, also by itself', () => {
  let calls = 0;
  const stop = every(systemClock, 100, () => {
    calls++;
    if (calls === 3) stop();
  });
  vi.advanceTimersByTime(99);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(1);
  expect(calls).toBe(1);
  vi.advanceTimersByTime(1000);
  expect(calls).toBe(3);
});
