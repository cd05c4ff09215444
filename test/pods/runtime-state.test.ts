import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { RuntimeState, watchRuntime } from '../../src/pods/runtime-state.ts';

test('a runtime that reports its health is checked every 5 s, and is down when it has not answered for 30 s (R36)', async () => {
  const clock = new FakeClock();
  const state = new RuntimeState(clock);
  const stop = new AbortController();
  let checks = 0;
  let answers = true;
  const runtimeHealth = (): Promise<object> => {
    checks += 1;
    return answers ? Promise.resolve({}) : Promise.reject(new Error('no answer'));
  };
  expect(state.errors()).toEqual(['container runtime status check may not have completed yet']);
  const watching = watchRuntime({ clock, provider: { runtimeHealth } }, state, stop.signal);
  await clock.advance(10_000);
  expect(checks).toBe(3);
  expect(state.errors()).toEqual([]);
  answers = false;
  await clock.advance(30_000);
  expect(state.errors()).toEqual(['container runtime is down']);
  stop.abort();
  await watching;
});

test('a runtime without health never counts as down, and costs no timer', async () => {
  const clock = new FakeClock();
  const state = new RuntimeState(clock);
  await watchRuntime({ clock, provider: {} }, state, new AbortController().signal);
  expect(clock.pending).toBe(0);
  await clock.advance(3_600_000);
  expect(state.errors()).toEqual([]);
});
