import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { SharedTimers } from '../../src/simulate/shared-timers.ts';

test('thousands of long times share one timer, and each ends at most 100 ms late', async () => {
  const clock = new FakeClock(1234);
  const timers = new SharedTimers(clock);
  const lateMs: number[] = [];
  for (let n = 0; n < 2000; n++) {
    const dueAt = clock.steady() + 500 + n;
    timers.timer(500 + n, () => lateMs.push(clock.steady() - dueAt));
  }
  expect(clock.pending).toBe(1);
  await clock.advance(2600);
  expect(lateMs).toHaveLength(2000);
  expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...lateMs)).toBeLessThanOrEqual(100);
  expect(clock.pending).toBe(0);
});

test('a timer that is stopped does not fire, also when another of its tick stops it', async () => {
  const clock = new FakeClock();
  const timers = new SharedTimers(clock);
  const fired: string[] = [];
  const stops: (() => void)[] = [];
  timers.timer(1000, () => {
    fired.push('first');
    for (const stop of stops) stop();
  });
  stops.push(timers.timer(1000, () => fired.push('same tick')));
  stops.push(timers.timer(5000, () => fired.push('later')));
  await clock.advance(10_000);
  expect(fired).toEqual(['first']);
});

test('a function that waits twice is called twice, and what it starts waits its whole time', async () => {
  const clock = new FakeClock();
  const timers = new SharedTimers(clock);
  const at: number[] = [];
  const fn = (): void => {
    at.push(clock.steady());
    if (at.length < 4) timers.timer(600, fn);
  };
  timers.timer(600, fn);
  timers.timer(600, fn);
  await clock.advance(1800);
  expect(at).toEqual([600, 600, 1200, 1200, 1800]);
});

test('short times are exact, and a sleep ends when its signal aborts', async () => {
  const clock = new FakeClock(7);
  const timers = new SharedTimers(clock);
  let at = 0;
  timers.timer(20, () => (at = timers.now()));
  await clock.advance(20);
  expect(at).toBe(27);
  const stop = new AbortController();
  const slept = timers.sleep(60_000, stop.signal);
  stop.abort(new Error('over'));
  await expect(slept).rejects.toThrow('over');
});

test('what was due while the process slept fires once, in order', async () => {
  const clock = new FakeClock();
  const timers = new SharedTimers(clock);
  const fired: number[] = [];
  for (const ms of [3000, 1000, 2000]) timers.timer(ms, () => fired.push(ms));
  clock.set(60_000);
  await clock.advance(0);
  expect(fired).toEqual([1000, 2000, 3000]);
});
