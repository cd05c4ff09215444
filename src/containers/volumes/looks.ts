import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';

/** Time after which an operation counts as stuck and its callers get an error, ms. */
const patienceMs = 10_000;

/**
 * Maximum number of stuck operations; above it no other begins. Node.js runs file operations in four threads, and each stuck one blocks a
 * thread.
 */
const maxStuck = 2;

/**
 * Looks runs file system operations on host paths that may hang, such as those of an unreachable file server, with a time limit, so that
 * only the caller is affected. Concurrent equal operations are shared.
 */
export class Looks {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #stuck = new Set<string>();

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  /**
   * Runs an operation and returns its result.
   *
   * @param key identifies path and operation; operations of one key return values of one type
   * @throws {AgentError} `deadline_exceeded` without a result within 10 s; `unavailable` at once while too many others are stuck;
   * the operation's own error; the signal's reason when it aborts first
   */
  at<T>(key: string, look: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const pending = (this.#pending.get(key) as Promise<T> | undefined) ?? this.#begin(key, look);
    return new Promise((resolve, reject) => {
      const stop = this.#clock.timer(patienceMs, () => {
        reject(new AgentError('deadline_exceeded', `${key} does not answer`));
      });
      const onAbort = (): void => {
        reject(AgentError.from(signal?.reason));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const settle = (): void => {
        stop();
        signal?.removeEventListener('abort', onAbort);
      };
      pending.finally(settle).then(resolve, reject);
    });
  }

  #begin<T>(key: string, look: () => Promise<T>): Promise<T> {
    if (this.#stuck.size >= maxStuck)
      return Promise.reject(
        new AgentError('unavailable', `${key} has to wait: ${[...this.#stuck].join(', ')} do not answer`),
      );
    const stop = this.#clock.timer(patienceMs, () => void this.#stuck.add(key));
    const pending = look().finally(() => {
      stop();
      this.#pending.delete(key);
      this.#stuck.delete(key);
    });
    this.#pending.set(key, pending);
    return pending;
  }
}
