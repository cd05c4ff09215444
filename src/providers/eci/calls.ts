import { type Clock, steadyNow } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { EciAction, EciAnswer, EciApi, EciParameters } from './api.ts';
import { type EciError, isEciError } from './errors.ts';

/** How often the service may be called, and how calls that fail for a moment are repeated. */
export interface EciCallLimits {
  /** Calls of one action per second in the long run; default 20. */
  readonly callsPerSecond?: number;
  /** Calls of one action at once before the rate counts; default 60: a listing of 1,000 groups is 50 pages. */
  readonly burst?: number;
  /** How often a call that reads is tried; default 3. */
  readonly tries?: number;
}

export interface EciCallsDeps extends EciCallLimits {
  readonly api: EciApi;
  readonly clock: Clock;
  readonly random: Random;
}

/** Counts of what was asked of the service, by action. */
export type CallCounts = ReadonlyMap<EciAction, { readonly calls: number; readonly failed: number }>;

/** Actions that change nothing, so that they can be repeated at will. */
const isRead = (action: EciAction): boolean => action.startsWith('Describe') || action === 'ListUsage';

/** The first delay before a repetition and the longest, ms. */
const retryDelay = { firstMs: 250, longestMs: 8000 };

/**
 * EciCalls makes the provider's calls: each action has a token bucket of its own, so that a storm of creations does not starve status polls;
 * a throttled action pauses for as long as the service says; reads that fail for a moment are repeated with a growing, jittered delay. Writes
 * are not repeated here: the pod's worker does, with the client token that makes it safe.
 */
export class EciCalls {
  readonly #deps: EciCallsDeps;
  readonly #buckets = new Map<EciAction, Bucket>();
  readonly #counts = new Map<EciAction, { calls: number; failed: number }>();

  constructor(deps: EciCallsDeps) {
    this.#deps = deps;
  }

  /** How many calls of each action were made and how many failed, since the start. */
  get counts(): CallCounts {
    return this.#counts;
  }

  /** @throws {EciError} the last failure */
  async call(action: EciAction, parameters: EciParameters, signal: AbortSignal): Promise<EciAnswer> {
    const { clock, tries = 3 } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      await this.#bucket(action).take(signal);
      try {
        return await this.#once(action, parameters, signal);
      } catch (reason) {
        if (!isEciError(reason, 'transient')) throw reason;
        const delayMs = this.#delayAfter(reason, attempt);
        if (reason.eciCode.startsWith('Throttling')) this.#bucket(action).pause(delayMs);
        if (!isRead(action) || attempt >= tries) throw reason;
        await clock.sleep(delayMs, signal);
      }
    }
  }

  async #once(action: EciAction, parameters: EciParameters, signal: AbortSignal): Promise<EciAnswer> {
    const count = this.#counts.get(action) ?? { calls: 0, failed: 0 };
    this.#counts.set(action, count);
    count.calls++;
    try {
      return await this.#deps.api.call(action, parameters, signal);
    } catch (reason) {
      count.failed++;
      throw reason;
    }
  }

  #delayAfter({ retryAfterMs }: EciError, attempt: number): number {
    if (retryAfterMs !== undefined) return retryAfterMs;
    const spanMs = Math.min(retryDelay.longestMs, retryDelay.firstMs * 2 ** (attempt - 1));
    return spanMs / 2 + (spanMs / 2) * this.#deps.random.float();
  }

  #bucket(action: EciAction): Bucket {
    const { clock, callsPerSecond = 20, burst = 60 } = this.#deps;
    const bucket = this.#buckets.get(action) ?? new Bucket(clock, callsPerSecond, burst);
    this.#buckets.set(action, bucket);
    return bucket;
  }
}

/** Bucket grants `burst` calls at once and `perSecond` in the long run, in the order in which they were asked for. */
class Bucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = steadyNow(clock);
  }

  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep(-this.#tokens / this.#perMs, signal);
    } catch (reason) {
      this.#tokens += 1;
      throw reason;
    }
  }

  /** Grants nothing for `ms`. */
  pause(ms: number): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, -ms * this.#perMs);
  }

  #refill(): void {
    const now = steadyNow(this.#clock);
    const elapsedMs = Math.max(0, now - this.#at);
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsedMs * this.#perMs);
    this.#at = now;
  }
}
