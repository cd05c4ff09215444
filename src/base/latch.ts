/** Opens once and for ever; whoever waits then goes on. */
export class Latch {
  #open = false;
  readonly #opened = Promise.withResolvers<undefined>();

  get isOpen(): boolean {
    return this.#open;
  }

  /** Resolves when the latch opens; rejects when `signal` aborts first. */
  async wait(signal?: AbortSignal): Promise<void> {
    if (this.#open) return;
    if (!signal) {
      await this.#opened.promise;
      return;
    }
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => {
      aborted.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([this.#opened.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  open(): void {
    if (this.#open) return;
    this.#open = true;
    this.#opened.resolve(undefined);
  }
}
