/** Heap is a binary heap: `pop` returns the entry that comes before all others. */
export class Heap<Entry> {
  readonly #before: (one: Entry, other: Entry) => boolean;
  readonly #entries: Entry[] = [];

  constructor(before: (one: Entry, other: Entry) => boolean) {
    this.#before = before;
  }

  get length(): number {
    return this.#entries.length;
  }

  peek(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    const entries = this.#entries;
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = entries[parent] as Entry;
      if (!this.#before(entry, above)) break;
      entries[at] = above;
      at = parent;
    }
    entries[at] = entry;
  }

  pop(): Entry | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (entries.length === 0 || last === undefined) return first;
    this.#sink(last);
    return first;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** Puts an entry in the place of the first one. */
  #sink(entry: Entry): void {
    const entries = this.#entries;
    const { length } = entries;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      const right = child + 1;
      if (right < length && this.#before(entries[right] as Entry, entries[child] as Entry)) child = right;
      const below = entries[child] as Entry;
      if (!this.#before(below, entry)) break;
      entries[at] = below;
      at = child;
    }
    entries[at] = entry;
  }
}
