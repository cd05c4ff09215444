/** A map of a bounded number of values that forgets what was longest out of use. */
export class Recent<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The value, which is in use again. */
  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** The value; that it was looked at does not count as use. */
  peek(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** @returns the value that had to go for it, if one had to */
  set(key: string, value: Value): Value | undefined {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#most) return undefined;
    const [oldest] = this.#values;
    if (oldest) this.#values.delete(oldest[0]);
    return oldest?.[1];
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
