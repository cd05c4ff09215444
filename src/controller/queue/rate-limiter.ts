import { type Clock, steadyNow } from '../../base/clock.ts';
import type { Request } from '../types.ts';

/** RateLimiter decides how long a request waits before it is queued again. */
export interface RateLimiter {
  /** Counts a failure of `request` and returns the time that it must wait, ms. */
  when(request: Request): number;
  /** Forgets the failures of `request`. */
  forget(request: Request): void;
  /** The number of failures of `request` since it was last forgotten. */
  numRequeues(request: Request): number;
}

/** The key of a request: `namespace/name`, or `/name` for cluster-scoped objects. */
export const keyOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;

/** The number of failures by request; the base of limiters that treat each request by itself. */
class Failures {
  readonly #counts = new Map<string, number>();

  /** Counts a failure and returns the number of those before it. */
  add(request: Request): number {
    const key = keyOf(request);
    const before = this.#counts.get(key) ?? 0;
    this.#counts.set(key, before + 1);
    return before;
  }

  of(request: Request): number {
    return this.#counts.get(keyOf(request)) ?? 0;
  }

  forget(request: Request): void {
    if (this.#counts.size > 0) this.#counts.delete(keyOf(request));
  }
}

/** The delays of {@link exponentialFailureRateLimiter}. */
export interface ExponentialFailureOptions {
  /** The delay after the first failure, ms. */
  readonly baseMs?: number;
  /** The longest delay, ms. */
  readonly maxMs?: number;
}

/** The rate of {@link bucketRateLimiter}. */
export interface BucketOptions {
  /** Requests per second. */
  readonly qps?: number;
  /** Requests at once. */
  readonly burst?: number;
}

/**
 * Returns a limiter whose delay doubles with each failure of a request. Default: from 5 ms to 1,000 s.
 *
 * @example
 * const limiter = exponentialFailureRateLimiter({ baseMs: 100, maxMs: 60_000 });
 */
export function exponentialFailureRateLimiter({
  baseMs = 5,
  maxMs = 1_000_000,
}: ExponentialFailureOptions = {}): RateLimiter {
  const failures = new Failures();
  return {
    // more doublings than 60 exceed every limit, and infinity is not a delay
    when: (request) => Math.min(maxMs, baseMs * 2 ** Math.min(60, failures.add(request))),
    forget: (request) => {
      failures.forget(request);
    },
    numRequeues: (request) => failures.of(request),
  };
}

/** The delays of {@link fastSlowRateLimiter}. */
export interface FastSlowOptions {
  /** The delay after each of the first `maxFastAttempts` failures, ms. */
  readonly fastMs: number;
  /** The delay after each further failure, ms. */
  readonly slowMs: number;
  readonly maxFastAttempts: number;
}

/**
 * Returns a limiter that retries a request a few times quickly, and slowly from then on.
 *
 * @example
 * const limiter = fastSlowRateLimiter({ fastMs: 50, slowMs: 10_000, maxFastAttempts: 3 });
 */
export function fastSlowRateLimiter(options: FastSlowOptions): RateLimiter {
  const failures = new Failures();
  return {
    when: (request) => (failures.add(request) < options.maxFastAttempts ? options.fastMs : options.slowMs),
    forget: (request) => {
      failures.forget(request);
    },
    numRequeues: (request) => failures.of(request),
  };
}

/**
 * Returns a limiter of all requests together: a token bucket. Default: 10 per second, 100 at once.
 *
 * @example
 * const limiter = bucketRateLimiter(clock, { qps: 50, burst: 200 });
 */
export function bucketRateLimiter(clock: Clock, { qps = 10, burst = 100 }: BucketOptions = {}): RateLimiter {
  const gapMs = 1000 / qps;
  let freeAt = -Infinity;
  return {
    when: () => {
      const now = steadyNow(clock);
      freeAt = Math.max(freeAt, now - (burst - 1) * gapMs) + gapMs;
      return Math.max(0, freeAt - gapMs - now);
    },
    forget: () => undefined,
    numRequeues: () => 0,
  };
}

/**
 * Returns a limiter with the longest delay of several.
 *
 * @example
 * const limiter = maxOfRateLimiter(exponentialFailureRateLimiter(), bucketRateLimiter(clock));
 */
export function maxOfRateLimiter(...limiters: readonly RateLimiter[]): RateLimiter {
  return {
    when: (request) => limiters.reduce((longest, limiter) => Math.max(longest, limiter.when(request)), 0),
    forget: (request) => {
      for (const limiter of limiters) limiter.forget(request);
    },
    numRequeues: (request) =>
      limiters.reduce((most, limiter) => Math.max(most, limiter.numRequeues(request)), 0),
  };
}

/**
 * Returns the limiter of controllers: 5 ms × 2ⁿ up to 1,000 s by request, and 10 per second, 100 at once, for all of them.
 *
 * @example
 * builder.withOptions({ rateLimiter: defaultControllerRateLimiter(clock) });
 */
export const defaultControllerRateLimiter = (clock: Clock): RateLimiter =>
  maxOfRateLimiter(exponentialFailureRateLimiter(), bucketRateLimiter(clock));
