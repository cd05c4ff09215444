import { type Clock, steadyNow } from '../base/clock.ts';
import type { Random } from '../base/random.ts';

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
