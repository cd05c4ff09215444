import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { jitter, type Random, systemRandom } from '../../base/random.ts';
import { isConflict } from './errors.ts';

/** How often something is tried, and how long the waits between are. */
export interface Backoff {
  /** The first wait, ms. */
  readonly duration: number;
  /** Each wait is this many times as long as the one before. Default: they are equal. */
  readonly factor?: number;
  /** Each wait is longer by a random part of itself, up to this much of it. Default 0. */
  readonly jitter?: number;
  /** How often it is tried at most. */
  readonly steps: number;
  /** The longest wait, without jitter, ms. Default: no limit. */
  readonly cap?: number;
}

/** The back-off for conflicts with clients that seldom write: five attempts, 10 ms apart. */
export const defaultRetry: Backoff = { steps: 5, duration: 10, factor: 1, jitter: 0.1 };
/** The back-off for conflicts with a controller that often writes: four attempts, 10, 50 and 250 ms apart. */
export const defaultBackoff: Backoff = { steps: 4, duration: 10, factor: 5, jitter: 0.1 };

export interface RetryOptions {
  /** Ends the waiting: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Calls `fn` until it succeeds, fails with an error that is not to be retried, or has been tried `steps` times; then throws its last error.
 *
 * After client-go's `retry.OnError`.
 *
 * @example
 * await retryOnError(defaultBackoff, isServiceUnavailable, () => client.create(kinds.Pod, pod), { signal });
 */
export async function retryOnError<T>(
  backoff: Backoff,
  retriable: (error: unknown) => boolean,
  fn: () => Promise<T> | T,
  { signal, clock = systemClock, random = systemRandom }: RetryOptions = {},
): Promise<T> {
  const waits = waitsOf(backoff, random);
  for (;;) {
    signal?.throwIfAborted();
    let wait: number | undefined;
    try {
      return await fn();
    } catch (error) {
      wait = retriable(error) ? waits.next().value : undefined;
      if (wait === undefined) throw error;
    }
    await clock.sleep(wait, signal);
  }
}

/** The waits between the attempts of a back-off, ms. @throws {AgentError} `invalid_argument` when it allows no attempt */
function waitsOf(
  { duration, steps, factor = 1, jitter: spread = 0, cap = Infinity }: Backoff,
  random: Random,
): Iterator<number, undefined> {
  if (!(steps >= 1))
    throw new AgentError(
      'invalid_argument',
      `backoff.steps: ${steps} is not allowed: at least 1 is required`,
    );
  return waits();

  function* waits(): Generator<number, undefined> {
    let wait = duration;
    for (let step = 1; step < steps; step++) {
      yield jitter(random, wait, spread);
      wait = Math.min(wait * factor, cap);
    }
    return undefined;
  }
}

/**
 * Calls `fn` again while it fails with a conflict. `fn` reads the object, changes it and writes it: each attempt must start from what the
 * API server has now, not from what a cache had before.
 *
 * After client-go's `retry.RetryOnConflict`.
 *
 * @example
 * await retryOnConflict(defaultRetry, async () => {
 *   const map = await apiReader.get(kinds.ConfigMap, key);
 *   await client.update(kinds.ConfigMap, { ...map, data: { ...map.data, owner: 'me' } });
 * });
 */
export const retryOnConflict = <T>(
  backoff: Backoff,
  fn: () => Promise<T> | T,
  options?: RetryOptions,
): Promise<T> => retryOnError(backoff, isConflict, fn, options);
