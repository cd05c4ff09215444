/** Stops a timer that `Clock.timer` started; a no-op once it has fired. */
export type StopTimer = () => void;

/**
 * Time as a dependency. All instants are milliseconds since the Unix epoch, all spans milliseconds.
 * Nothing outside this file reads the machine's clock; tests use {@link FakeClock} from `fake-clock.ts`.
 */
export interface Clock {
  /** What the machine's clock shows; somebody may set it, also back. */
  now(): number;
  /** Never set, never goes back: for spans within this process (Go's monotonic readings). Absent: `now` is such a clock. */
  steady?(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`. Real timers do not keep the process alive. */
  timer(ms: number, fn: () => void): StopTimer;
}

/**
 * The reading that spans are measured with: what must be newer than something else, what falls due, what has lasted how long. It is no
 * time to be told, and is compared with nothing that comes from outside the process.
 */
export const steadyNow = (clock: Pick<Clock, 'now' | 'steady'>): number => clock.steady?.() ?? clock.now();

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // near `now` until that is set; parts of a ms too, so that what happens in one ms has an order
  steady: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) => sleepBy((span, fn) => after(span, fn, true), ms, signal),
  timer: (ms, fn) => after(ms, fn, false),
};

/** Node's timers take no longer span, some 25 days: they would fire at once. A grace period or a probe's period may be longer. */
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

/** {@link Clock.sleep} of a clock that has such a timer. */
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
