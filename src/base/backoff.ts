import { type Clock, steadyNow } from './clock.ts';
import type { Random } from './random.ts';

/** The back-off of crashing containers: 10 s, doubling to 5 min, reset when a run ends more than 10 min after the last step (R179). */
export const crashLoopBackoff = { initialMs: 10_000, maxMs: 300_000, expiryMs: 600_000 } as const;

/** The back-off of image pulls: 10 s, doubling to 5 min. */
export const imagePullBackoff: BackoffOptions = { initialMs: 10_000, maxMs: 300_000 };

export interface BackoffOptions {
  /** The first delay, ms; not capped by `maxMs`. */
  readonly initialMs: number;
  /** The upper limit of the doubling, ms. */
  readonly maxMs: number;
  /** A key counts as new for an event that lies more than this after its last step, ms. Default: twice `maxMs`. */
  readonly expiryMs?: number;
}

interface Entry {
  readonly delayMs: number;
  readonly updatedAt: number;
}

/**
 * Backoff computes an exponential back-off by key. Whether an entry has expired depends on the time of the *event*, not on the clock. Only
 * `next`, `reset` and `gc` change entries.
 *
 * Follows client-go `flowcontrol.Backoff` and kubelet `doBackOff`.
 */
export class Backoff {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #options: Required<BackoffOptions>;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, 'now'>, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = { expiryMs: 2 * options.maxMs, ...options };
  }

  /** The current delay, ms; an expired entry keeps its old one; 0 for an unknown key. */
  get(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Steps the key: to the first delay when it is new or expired, else to twice its delay. @param eventAt ms since the epoch */
  next(key: string, eventAt: number): void {
    const entry = this.#live(key, eventAt);
    const delayMs = entry ? Math.min(entry.delayMs * 2, this.#options.maxMs) : this.#options.initialMs;
    this.#entries.set(key, { delayMs, updatedAt: this.#clock.now() });
  }

  /** True while the delay, counted from the event, has not passed. */
  isInBackOffSince(key: string, eventAt: number): boolean {
    const entry = this.#live(key, eventAt);
    return entry !== undefined && this.#clock.now() - eventAt < entry.delayMs;
  }

  /** True when the delay, counted from the last step, has not passed at the time of the event. */
  isInBackOffSinceUpdate(key: string, eventAt: number): boolean {
    const entry = this.#live(key, eventAt);
    return entry !== undefined && eventAt - entry.updatedAt < entry.delayMs;
  }

  /**
   * Decides whether something that ended at `eventAt` may start again now. If so, steps the key and returns `undefined`; otherwise returns
   * the time (ms since the epoch) from which it may.
   */
  tryRestart(key: string, eventAt: number): number | undefined {
    if (this.isInBackOffSince(key, eventAt)) return eventAt + this.get(key);
    this.next(key, eventAt);
    return undefined;
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Removes the entries that have expired by now. */
  gc(): void {
    const oldest = this.#clock.now() - this.#options.expiryMs;
    for (const [key, { updatedAt }] of this.#entries) if (updatedAt < oldest) this.#entries.delete(key);
  }

  #live(key: string, eventAt: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry && eventAt - entry.updatedAt <= this.#options.expiryMs ? entry : undefined;
  }
}

/** The delays of a {@link FullJitter} back-off. */
export interface BackOffOptions {
  /** The upper bound of the first delay, ms. */
  readonly baseMs: number;
  /** The upper bound of every delay, ms. */
  readonly maxMs: number;
  /** The delays start over after this long without a failure, ms. */
  readonly resetAfterMs: number;
}

/** The back-off of client-go's reflector: 800 ms, doubling to 30 s, reset after 2 min. */
export const reflectorBackOff: BackOffOptions = { baseMs: 800, maxMs: 30_000, resetAfterMs: 120_000 };

/**
 * FullJitter is an exponential back-off with full jitter: each delay is random between 0 and a bound that doubles, which spreads out
 * clients.
 */
export class FullJitter {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #options: BackOffOptions;
  #failures = 0;
  #failedAt = 0;

  constructor(clock: Clock, random: Random, options: BackOffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#options = options;
  }

  /** Counts a failure and returns the delay before the next attempt, ms. */
  next(): number {
    const now = steadyNow(this.#clock);
    if (now - this.#failedAt > this.#options.resetAfterMs) this.#failures = 0;
    this.#failedAt = now;
    const { baseMs, maxMs } = this.#options;
    const end = Math.min(maxMs, baseMs * 2 ** Math.min(this.#failures++, 30));
    return this.#random.float() * end;
  }

  reset(): void {
    this.#failures = 0;
  }
}
