import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';

/** A look that has not answered for so long counts as stuck, ms, and whoever waits for it is told. */
const patienceMs = 10_000;

/** Looks that may be stuck before no other begins. Node.js does all of its file work in four threads, and each of these holds one. */
const maxStuck = 2;

/**
 * Looks at paths of the host that may answer no more, such as those of a file server that is gone: a look may be stuck for good, nobody
 * else is. Those that want the same look share one.
 */
export class Looks {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #stuck = new Set<string>();

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  /**
   * Waits for a look to end, and gives back what it found.
   *
   * @param key what is looked at, and for what: looks of one key find values of one type
   * @throws {AgentError} `deadline_exceeded` when there is no answer within 10 s; `unavailable` at once while too many others are stuck;
   *   the look's own error; the signal's reason when it aborts first
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
