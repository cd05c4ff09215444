/** Slots runs at most `limit` jobs at a time, in order of arrival. */
export class Slots {
  readonly #limit: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  /** @param limit default: every job runs at once */
  constructor(limit: number = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /**
   * Runs a job as soon as there is a slot for it.
   *
   * @param signal ends the wait for a slot, not a job that runs
   * @throws the signal's reason when it aborts first; what the job throws
   */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#take(signal);
    try {
      return await job();
    } finally {
      this.#free();
    }
  }

  #take(signal: AbortSignal | undefined): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    if (signal?.aborted === true) reject(signal.reason as Error);
    else if (this.#taken < this.#limit) {
      this.#taken++;
      resolve(undefined);
    } else {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve(undefined);
      };
      const leave = (): void => {
        this.#waiting.delete(enter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(enter);
    }
    return promise;
  }

  /** Hands a slot on to the first that waits. */
  #free(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#taken--;
  }
}
