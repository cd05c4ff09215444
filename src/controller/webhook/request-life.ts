/**
 * RequestLife ends when the deadline of a request has passed, or its client has gone. Most requests end before: the signal is made on
 * first use.
 */
export class RequestLife {
  #controller: AbortController | undefined;
  #waiting: ((reason: unknown) => void)[] = [];
  #aborted = false;
  #reason: Error | undefined;

  /** Returns a life that ends when `signal` aborts. */
  static within(signal: AbortSignal): RequestLife {
    const life = new RequestLife();
    if (signal.aborted) life.end(signal.reason);
    else
      signal.addEventListener(
        'abort',
        () => {
          life.end(signal.reason);
        },
        { once: true },
      );
    return life;
  }

  /** Aborts when the life ends. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Ends it. The first reason counts. */
  end(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason as Error;
    this.#controller?.abort(reason);
    for (const reject of this.#waiting.splice(0)) reject(reason);
  }

  /** Settles as `work` does, or rejects with the reason as soon as the life ends; `work` itself goes on then. */
  until<T>(work: Promise<T>): Promise<T> {
    if (this.#aborted) {
      work.catch(() => undefined);
      return Promise.reject(this.#reason ?? new Error('the request has ended'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push(reject);
      work.then(resolve, reject);
    });
  }
}
