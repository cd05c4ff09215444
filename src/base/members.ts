/** What can tell whether a value is of it; every `Set` and `Map` can. */
export type Members = Pick<ReadonlySet<string>, 'has'>;

/**
 * A set that is told anew, again and again, who is of it, and each time nearly the same: it keeps its table. A new one of some thousands
 * is garbage of 160 KiB and more, outside of what the young generation's cheap collections reach.
 */
export class RecurringSet implements Members {
  /** Each member, and when it was told of last. */
  readonly #told = new Map<string, number>();
  #times = 0;

  /** The keys of these values are its members from now on, and no others. */
  refill<Value>(values: readonly Value[], keyOf: (value: Value) => string): this {
    const time = ++this.#times;
    let size = 0;
    values.forEach((value) => {
      const key = keyOf(value);
      if (this.#told.get(key) === time) return;
      this.#told.set(key, time);
      size++;
    });
    if (size < this.#told.size)
      this.#told.forEach((last, key) => {
        if (last !== time) this.#told.delete(key);
      });
    return this;
  }

  has(key: string): boolean {
    return this.#told.has(key);
  }

  get size(): number {
    return this.#told.size;
  }
}
