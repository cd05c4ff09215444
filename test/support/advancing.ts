import { setTimeout as delay } from 'node:timers/promises';
import type { FakeClock } from '../../src/base/fake-clock.ts';

/** What sockets need between two steps of a fake clock, ms of real time. */
const ioMs = 2;

/** Advances the clock in steps of 200 ms until `work` settles, for work that needs time as well as sockets. */
export async function whileAdvancing<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  const ended = work.finally(() => {
    state.isDone = true;
  });
  ended.catch(() => undefined);
  while (!state.isDone) await step(clock, 200);
  return ended;
}

/** Advances the clock by `ms` in steps, with time for sockets between them. */
export async function advanceSlowly(clock: FakeClock, ms: number, stepMs = 1000): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) await step(clock, Math.min(stepMs, left));
}

async function step(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms);
  await delay(ioMs);
}
