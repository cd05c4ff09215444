import { type Clock, sleepBy, type StopTimer } from './clock.ts';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * Resolves when every promise that needs neither time nor I/O has settled.
 *
 * @example
 * controller.run(signal);
 * await settle(); // all promises that need no timer are done
 */
export async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/**
 * FakeClock is a clock for tests that moves only when {@link advance} is called. Timers fire in order of their due time, and promises
 * settle between two of them, so that a test never waits.
 *
 * @example
 * const clock = new FakeClock();
 * const slept = clock.sleep(10_000);
 * await clock.advance(10_000);
 * await slept;
 */
export class FakeClock implements Clock {
  #now: number;
  /** The offset by which {@link jump} has set the clock, ms. */
  #setMs = 0;
  #order = 0;
  readonly #due = new Set<Due>();

  /** @param startMs the initial time, ms since the epoch */
  constructor(startMs = 0) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now + this.#setMs;
  }

  steady(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((span, fn) => this.timer(span, fn), ms, signal);
  }

  timer(ms: number, fn: () => void): StopTimer {
    const due: Due = { at: this.#now + Math.max(0, ms), order: this.#order++, fire: fn };
    this.#due.add(due);
    return () => {
      this.#due.delete(due);
    };
  }

  /** The number of pending timers and sleeps. */
  get pending(): number {
    return this.#due.size;
  }

  /** Sets the time without firing due timers; for replays that trigger everything themselves. */
  set(now: number): void {
    this.#now = now - this.#setMs;
  }

  /** Sets the wall clock forward by `ms`, or back when negative. No time passes, so no timer becomes due. */
  jump(ms: number): void {
    this.#setMs += ms;
  }

  /** Advances the time by `ms`, fires the timers that become due, and lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  #next(end: number): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due) {
      if (due.at > end) continue;
      if (!first || due.at < first.at || (due.at === first.at && due.order < first.order)) first = due;
    }
    return first;
  }
}
