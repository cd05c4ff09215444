/** A membership test; every `Set` and `Map` is one. */
export type Members = Pick<ReadonlySet<string>, 'has'>;

/**
 * RecurringSet is a set that is refilled again and again with nearly the same members. It reuses its table: a new set of some thousand
 * members leaves 160 KiB and more of garbage, which the cheap collections of the young generation do not reclaim.
 */
export class RecurringSet implements Members {
  /** Each member, with the number of the last refill that contained it. */
  readonly #lastRefill = new Map<string, number>();
  #times = 0;

  /** Replaces the members by the keys of these values. */
  refill<Value>(values: readonly Value[], keyOf: (value: Value) => string): this {
    const time = ++this.#times;
    let size = 0;
    values.forEach((value) => {
      const key = keyOf(value);
      if (this.#lastRefill.get(key) === time) return;
      this.#lastRefill.set(key, time);
      size++;
    });
    if (size < this.#lastRefill.size)
      this.#lastRefill.forEach((last, key) => {
        if (last !== time) this.#lastRefill.delete(key);
      });
    return this;
  }

  has(key: string): boolean {
    return this.#lastRefill.has(key);
  }

  get size(): number {
    return this.#lastRefill.size;
  }
}
