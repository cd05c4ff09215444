/** Latch opens once and stays open; opening it resolves all waits. */
export class Latch {
  #open = false;
  /** The pending waits. Aborted ones are removed, because some latches open late or never. */
  readonly #waiting = new Set<() => void>();

  get isOpen(): boolean {
    return this.#open;
  }

  /** Resolves when the latch opens; rejects when `signal` aborts first. */
  async wait(signal?: AbortSignal): Promise<void> {
    if (this.#open) return;
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(goOn);
        reject(signal?.reason as Error);
      };
      const goOn = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      this.#waiting.add(goOn);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  open(): void {
    this.#open = true;
    for (const goOn of this.#waiting) goOn();
    this.#waiting.clear();
  }
}
