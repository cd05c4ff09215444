import { type Clock, steadyNow } from './clock.ts';
import type { Random } from './random.ts';

/** Container crashes: 10 s, doubling to 5 min, forgotten when a run ended more than 10 min after the last step (R179). */
export const crashLoopBackoff = { initialMs: 10_000, maxMs: 300_000, expiryMs: 600_000 } as const;

/** Image pulls: 10 s, doubling to 5 min. */
export const imagePullBackoff: BackoffOptions = { initialMs: 10_000, maxMs: 300_000 };

export interface BackoffOptions {
  /** The first delay; not capped by `maxMs`. */
  readonly initialMs: number;
  /** What doubling stops at. */
  readonly maxMs: number;
  /** An event that lies more than this after the key's last step finds the key forgotten. Default: twice `maxMs`. */
  readonly expiryMs?: number;
}

interface Entry {
  readonly delayMs: number;
  readonly updatedAt: number;
}

/**
 * Exponential back-off by key. An entry expires by the time of the *event* that is asked about, not by the clock; only `next`,
 * `reset` and `gc` change entries.
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

  /** The present delay, ms; of an expired entry still its old one; 0 for an unknown key. */
  get(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Steps the key: the first delay if it is new or expired, else the double. @param eventAt ms since the epoch */
  next(key: string, eventAt: number): void {
    const entry = this.#live(key, eventAt);
    const delayMs = entry ? Math.min(entry.delayMs * 2, this.#options.maxMs) : this.#options.initialMs;
    this.#entries.set(key, { delayMs, updatedAt: this.#clock.now() });
  }

  /** Does the delay, counted from the event, still last? */
  isInBackOffSince(key: string, eventAt: number): boolean {
    const entry = this.#live(key, eventAt);
    return entry !== undefined && this.#clock.now() - eventAt < entry.delayMs;
  }

  /** Does the delay, counted from the last step, last at the event? */
  isInBackOffSinceUpdate(key: string, eventAt: number): boolean {
    const entry = this.#live(key, eventAt);
    return entry !== undefined && eventAt - entry.updatedAt < entry.delayMs;
  }

  /**
   * May what ended at `eventAt` start again now? Yes: the key is stepped and the answer is `undefined`.
   * No: the instant (ms since the epoch) from which it may.
   */
  tryRestart(key: string, eventAt: number): number | undefined {
    if (this.isInBackOffSince(key, eventAt)) return eventAt + this.get(key);
    this.next(key, eventAt);
    return undefined;
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Drops what has expired by now. */
  gc(): void {
    const oldest = this.#clock.now() - this.#options.expiryMs;
    for (const [key, { updatedAt }] of this.#entries) if (updatedAt < oldest) this.#entries.delete(key);
  }

  #live(key: string, eventAt: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry && eventAt - entry.updatedAt <= this.#options.expiryMs ? entry : undefined;
  }
}

/** How long to wait between tries of one thing. */
export interface BackOffOptions {
  /** Upper end of the first wait, ms. */
  readonly baseMs: number;
  /** Upper end of any wait, ms. */
  readonly maxMs: number;
  /** After this long without a failure the waits start small again, ms. */
  readonly resetAfterMs: number;
}

/** client-go's reflector: 800 ms doubling to 30 s, forgotten after 2 min. */
export const reflectorBackOff: BackOffOptions = { baseMs: 800, maxMs: 30_000, resetAfterMs: 120_000 };

/** Full-jitter exponential back-off: each wait is anywhere between nothing and an end that doubles, so that no herd forms. */
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

  /** Counts a failure and says how long to wait, ms. */
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
