import { LRUCache } from 'lru-cache';
import { type Clock, steadyNow } from '../base/clock.ts';

interface Entry<V> {
  readonly value: V;
  readonly until: number;
}

/**
 * TtlCache holds a bounded number of values, each for its own time. Concurrent requests for a key share one fetch. Failures are not
 * cached.
 */
export class TtlCache<V> {
  readonly #clock: Clock;
  readonly #entries: LRUCache<string, Entry<V>>;
  readonly #pending = new Map<string, Promise<V>>();

  constructor(clock: Clock, most = 4096) {
    this.#clock = clock;
    this.#entries = new LRUCache({ max: most });
  }

  /** @param ttlMs returns how long a value is cached */
  get(key: string, fetch: () => Promise<V>, ttlMs: (value: V) => number): Promise<V> {
    const cached = this.#entries.get(key);
    if (cached && cached.until > steadyNow(this.#clock)) return Promise.resolve(cached.value);
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const fetched = fetch()
      .then((value) => {
        this.#keep(key, value, ttlMs(value));
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, fetched);
    return fetched;
  }

  #keep(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    if (ttlMs > 0) this.#entries.set(key, { value, until: steadyNow(this.#clock) + ttlMs });
  }
}
