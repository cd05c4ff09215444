import { flushCompileCache } from 'node:module';
import { systemClock } from '../base/clock.ts';

/** By then the first pods have been looked after, so that what they need is compiled. */
const afterMs = 10_000;

/**
 * Has Node write down the code that this process has compiled, for the next start. By itself it does so when a process ends in order,
 * and an agent that is killed is the one whose next start is waited for.
 */
export function keepCompiledCode(): void {
  systemClock.timer(afterMs, flushCompileCache);
}
