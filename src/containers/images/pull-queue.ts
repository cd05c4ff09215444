/**
 * Lets at most `limit` jobs run at once, in the order they came; 1 is the kubelet's `serializeImagePulls`, and no limit lets
 * every one run.
 */
export class PullQueue {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number | undefined) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await job();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
