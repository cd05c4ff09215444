import { type Clock, sleepBy, steadyNow, type StopTimer } from '../base/clock.ts';

/** The granularity of shared timers, ms. */
const tickMs = 100;

/** Shorter times get a timer of their own, ms. */
const shortestMs = 500;

/**
 * SharedTimers is a clock whose longer timers share one timer of another clock: thousands of nodes wake the process ten times a second, not
 * thousands of times. A time of 500 ms or more ends up to 100 ms late.
 */
export class SharedTimers implements Clock {
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** What is called at each tick. */
  readonly #due = new Map<number, Set<() => void>>();
  #tick = 0;
  #isArmed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = steadyNow(clock);
  }

  now(): number {
    return this.#clock.now();
  }

  steady(): number {
    return steadyNow(this.#clock);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((span, fn) => this.timer(span, fn), ms, signal);
  }

  timer(ms: number, fn: () => void): StopTimer {
    if (ms < shortestMs) return this.#clock.timer(ms, fn);
    if (ms === Infinity) return () => undefined;
    const tick = Math.ceil((this.#elapsed() + ms) / tickMs);
    const bucket = this.#due.get(tick) ?? new Set();
    this.#due.set(tick, bucket);
    // the same function may wait twice
    const entry = (): void => {
      fn();
    };
    bucket.add(entry);
    this.#arm();
    return () => {
      if (bucket.delete(entry) && bucket.size === 0 && this.#due.get(tick) === bucket) this.#due.delete(tick);
    };
  }

  #elapsed(): number {
    return steadyNow(this.#clock) - this.#startedAt;
  }

  /** Runs the one timer while anything waits. */
  #arm(): void {
    if (this.#isArmed || this.#due.size === 0) return;
    this.#isArmed = true;
    const elapsed = this.#elapsed();
    this.#clock.timer((Math.floor(elapsed / tickMs) + 1) * tickMs - elapsed, () => {
      this.#isArmed = false;
      this.#advance(Math.floor(this.#elapsed() / tickMs));
      this.#arm();
    });
  }

  #advance(now: number): void {
    if (now - this.#tick > this.#due.size) {
      // the process slept, or little waits: only ticks at which something is due
      const passed = [...this.#due.keys()].filter((tick) => tick <= now).sort((a, b) => a - b);
      for (const tick of passed) this.#fire(tick);
    } else for (let tick = this.#tick + 1; tick <= now; tick++) this.#fire(tick);
    this.#tick = now;
  }

  #fire(tick: number): void {
    const bucket = this.#due.get(tick);
    if (!bucket) return;
    this.#due.delete(tick);
    for (const entry of bucket) {
      bucket.delete(entry); // one of them may stop another that has not been called yet
      entry();
    }
  }
}
