/** Stops a timer that `Clock.timer` started; a no-op once it has fired. */
export type StopTimer = () => void;

/**
 * Clock is the source of time for all components. Times are milliseconds since the Unix epoch, durations are milliseconds. No other file
 * reads the machine's clock; tests use {@link FakeClock} from `fake-clock.ts`.
 */
export interface Clock {
  /** The wall-clock time. It jumps when the machine's clock is set, also backwards. */
  now(): number;
  /** A monotonic time for durations within this process (Go's monotonic reading). When absent, `now` is monotonic. */
  steady?(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`. Real timers do not keep the process alive. */
  timer(ms: number, fn: () => void): StopTimer;
}

/**
 * The monotonic time of a clock, ms. Use it for durations, deadlines and the order of observations. It must not be shown to users or
 * compared with times from outside this process.
 */
export const steadyNow = (clock: Pick<Clock, 'now' | 'steady'>): number => clock.steady?.() ?? clock.now();

/** Read once: the getter costs more than the time itself. */
const { timeOrigin } = performance;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // close to `now` until the machine's clock is set; with fractions of a ms, so that events within one ms are ordered
  steady: () => timeOrigin + performance.now(),
  sleep: (ms, signal) => sleepBy((span, fn) => after(span, fn, true), ms, signal),
  timer: (ms, fn) => after(ms, fn, false),
};

/**
 * The longest delay of a Node timer, ms (about 25 days). A longer one would fire at once, but a grace period or probe period may be longer.
 */
const longestMs = 2 ** 31 - 1;

function after(ms: number, fn: () => void, keepAlive: boolean): StopTimer {
  let handle: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    handle =
      leftMs > longestMs
        ? setTimeout(() => {
            wait(leftMs - longestMs);
          }, longestMs)
        : setTimeout(fn, Math.ceil(leftMs));
    if (!keepAlive) handle.unref();
  };
  wait(ms);
  return () => {
    clearTimeout(handle);
  };
}

/** Calls `work` every `ms` until the returned function is called. */
export function every(clock: Pick<Clock, 'timer'>, ms: number, work: () => void): StopTimer {
  let stop: StopTimer;
  const arm = (): void => {
    stop = clock.timer(ms, () => {
      arm();
      work();
    });
  };
  arm();
  return () => {
    stop();
  };
}

/** Implements {@link Clock.sleep} with a clock's `timer`. */
export function sleepBy(timer: Clock['timer'], ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = timer(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    const abort = (): void => {
      stop();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}
