import { setTimeout as delay } from 'node:timers/promises';

/** Stops a timer that `Clock.timer` started; a no-op once it has fired. */
export type StopTimer = () => void;

/**
 * Time as a dependency. All instants are milliseconds since the Unix epoch, all spans milliseconds.
 * Nothing outside this file reads the machine's clock; tests use {@link FakeClock} from `fake-clock.ts`.
 */
export interface Clock {
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`. Real timers do not keep the process alive. */
  timer(ms: number, fn: () => void): StopTimer;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal && { signal }),
  timer: (ms, fn) => {
    const handle = setTimeout(fn, ms).unref();
    return () => {
      clearTimeout(handle);
    };
  },
};
