import { type Clock, type StopTimer, steadyNow } from './clock.ts';

/** Receives the metrics of a queue (client-go `workqueue` metrics). Durations are ms. */
export interface WorkQueueMetrics {
  depth?(length: number): void;
  added?(): void;
  /** The time from becoming due to being taken. */
  waited?(ms: number): void;
  /** The time from being taken to being done. */
  worked?(ms: number): void;
  retried?(): void;
}

/** The rate limits of a queue. The defaults are those of client-go's controllers. */
export interface WorkQueueOptions {
  /** The delay after an item's first failure, ms; doubles with each further one. Default 5. */
  readonly baseDelayMs?: number;
  /** The longest delay after a failure, ms. Default 1,000 s. */
  readonly maxDelayMs?: number;
  /** The rate-limited adds per second for all items; 0 for no limit. Default 10. */
  readonly qps?: number;
  /** The rate-limited adds that may happen at once. Default 100. */
  readonly burst?: number;
  readonly metrics?: WorkQueueMetrics;
}

/** The options of {@link WorkQueue.add}. */
export interface AddOptions {
  /**
   * Items with a higher priority are taken first; among equals, the one that has been due longest. A waiting item keeps its highest
   * priority. Default 0.
   */
  readonly priority?: number;
  /** The delay before the item becomes due, ms. Of several times for one item the earliest wins. */
  readonly afterMs?: number;
}

interface Waiting {
  readonly priority: number;
  readonly since: number;
  readonly order: number;
}

/**
 * WorkQueue queues work by key. An item waits at most once and is processed by at most one worker; an item added while it is processed is
 * queued again afterwards. Adds may be delayed, by the item's number of failures and by an overall rate.
 *
 * After client-go `util/workqueue` (rate limiting, priority).
 *
 * @example
 * const queue = new WorkQueue<string>(clock);
 * queue.add(uid, { afterMs: 5000 }); // due in 5 s
 */
export class WorkQueue<Key> {
  readonly #clock: Clock;
  readonly #options: Required<Omit<WorkQueueOptions, 'metrics'>>;
  readonly #metrics: WorkQueueMetrics;
  readonly #waiting = new Map<Key, Waiting>();
  /** The items by priority, highest first; a taken item leaves a hole that is skipped. */
  readonly #lanes = new Map<number, Key[]>();
  #priorities: number[] = [];
  readonly #working = new Map<Key, number>();
  readonly #again = new Map<Key, number>();
  readonly #delayed = new Map<
    Key,
    { readonly at: number; readonly priority: number; readonly stop: StopTimer }
  >();
  readonly #failures = new Map<Key, number>();
  #takers: ((key: Key | undefined) => void)[] = [];
  #idle: (() => void)[] = [];
  #order = 0;
  #shut = false;
  #freeAt = -Infinity;

  constructor(clock: Clock, options: WorkQueueOptions = {}) {
    const { metrics, ...limits } = options;
    this.#clock = clock;
    this.#metrics = metrics ?? {};
    this.#options = { baseDelayMs: 5, maxDelayMs: 1_000_000, qps: 10, burst: 100, ...limits };
  }

  /** The number of items that are due and wait for a worker. */
  get length(): number {
    return this.#waiting.size;
  }

  /** The number of items that become due later. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** The number of items being processed. */
  get inFlight(): number {
    return this.#working.size;
  }

  /** The number of failures of `key` since it was last forgotten. */
  failures(key: Key): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Adds `key` unless it waits already. Has no effect after {@link shutDown}. */
  add(key: Key, options: AddOptions = {}): void {
    if (this.#shut) return;
    const { priority = 0, afterMs = 0 } = options;
    if (afterMs > 0) this.#addLater(key, priority, afterMs);
    else this.#addNow(key, priority);
  }

  /** Adds `key` when its own back-off and the overall rate limit allow. */
  addRateLimited(key: Key, options: Pick<AddOptions, 'priority'> = {}): void {
    if (this.#shut) return;
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    this.#metrics.retried?.();
    const { baseDelayMs, maxDelayMs } = this.#options;
    const own = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures, 40));
    this.add(key, { ...options, afterMs: Math.max(own, this.#reserve()) });
  }

  /** Resets the back-off of `key`; call it when the item has succeeded. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** Takes the next item, and waits for one. Returns `undefined` once the queue is shut down and empty, or when `signal` aborts. */
  async take(signal?: AbortSignal): Promise<Key | undefined> {
    if (signal?.aborted) return undefined;
    const next = this.#pop();
    if (next) return next.key;
    if (this.#shut) return undefined;
    return await new Promise<Key | undefined>((resolve) => {
      const taker = (key: Key | undefined): void => {
        signal?.removeEventListener('abort', abort);
        resolve(key);
      };
      const abort = (): void => {
        this.#takers = this.#takers.filter((other) => other !== taker);
        resolve(undefined);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#takers.push(taker);
    });
  }

  /** Marks `key` as processed; if it was added meanwhile, it is queued again. */
  done(key: Key): void {
    const since = this.#working.get(key);
    if (since === undefined) return;
    this.#working.delete(key);
    this.#metrics.worked?.(steadyNow(this.#clock) - since);
    const priority = this.#again.get(key);
    this.#again.delete(key);
    if (priority !== undefined) this.#addNow(key, priority);
    this.#settle();
  }

  /**
   * Processes items with `workers` loops until `signal` aborts or the queue is shut down and empty. When `work` throws, the item is queued
   * again after its back-off; when it succeeds, the item's back-off is reset.
   */
  async run(
    workers: number,
    work: (key: Key, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const loop = async (): Promise<void> => {
      for (let key = await this.take(signal); key !== undefined; key = await this.take(signal)) {
        try {
          await work(key, signal);
          this.forget(key);
        } catch {
          this.addRateLimited(key);
        } finally {
          this.done(key);
        }
      }
    };
    await Promise.all(Array.from({ length: workers }, loop));
  }

  /** Accepts no more items and drops the delayed ones; waiting items can still be taken. */
  shutDown(): void {
    this.#shut = true;
    for (const { stop } of this.#delayed.values()) stop();
    this.#delayed.clear();
    if (this.#waiting.size > 0) return;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
  }

  /** Shuts down and resolves when no item waits or is being processed. */
  async drain(): Promise<void> {
    this.shutDown();
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #addLater(key: Key, priority: number, afterMs: number): void {
    const at = steadyNow(this.#clock) + afterMs;
    const planned = this.#delayed.get(key);
    const highest = Math.max(priority, planned?.priority ?? priority);
    if (planned && planned.at <= at) {
      if (highest > planned.priority) this.#delayed.set(key, { ...planned, priority: highest });
      return;
    }
    planned?.stop();
    const stop = this.#clock.timer(afterMs, () => {
      const due = this.#delayed.get(key);
      this.#delayed.delete(key);
      this.#addNow(key, due?.priority ?? highest);
    });
    this.#delayed.set(key, { at, priority: highest, stop });
  }

  #addNow(key: Key, priority: number): void {
    if (this.#working.has(key)) {
      this.#again.set(key, Math.max(priority, this.#again.get(key) ?? priority));
      return;
    }
    const waiting = this.#waiting.get(key);
    if (waiting && waiting.priority >= priority) return;
    const since = waiting?.since ?? steadyNow(this.#clock);
    this.#waiting.set(key, { priority, since, order: this.#order++ });
    this.#lane(priority).push(key);
    if (!waiting) this.#metrics.added?.();
    this.#metrics.depth?.(this.#waiting.size);
    const taker = this.#takers.shift();
    if (!taker) return;
    const next = this.#pop();
    if (next) taker(next.key);
    else this.#takers.unshift(taker);
  }

  #lane(priority: number): Key[] {
    const existing = this.#lanes.get(priority);
    if (existing) return existing;
    const lane: Key[] = [];
    this.#lanes.set(priority, lane);
    this.#priorities = [...this.#lanes.keys()].sort((a, b) => b - a);
    return lane;
  }

  #pop(): { readonly key: Key } | undefined {
    for (const priority of this.#priorities) {
      const key = this.#popLane(priority);
      if (key) return key;
    }
    return undefined;
  }

  #popLane(priority: number): { readonly key: Key } | undefined {
    const lane = this.#lanes.get(priority) ?? [];
    let read = 0;
    for (const key of lane) {
      read++;
      const waiting = this.#waiting.get(key);
      if (waiting?.priority !== priority) continue;
      lane.splice(0, read);
      this.#start(key, waiting);
      return { key };
    }
    lane.length = 0;
    return undefined;
  }

  #start(key: Key, waiting: Waiting): void {
    const now = steadyNow(this.#clock);
    this.#waiting.delete(key);
    this.#working.set(key, now);
    this.#metrics.waited?.(now - waiting.since);
    this.#metrics.depth?.(this.#waiting.size);
  }

  /** Reserves a place in the overall rate. Returns the time until it is due, ms. */
  #reserve(): number {
    const { qps, burst } = this.#options;
    if (qps <= 0) return 0;
    const now = steadyNow(this.#clock);
    const gapMs = 1000 / qps;
    this.#freeAt = Math.max(this.#freeAt, now - (burst - 1) * gapMs) + gapMs;
    return Math.max(0, this.#freeAt - gapMs - now);
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#working.size === 0;
  }

  #settle(): void {
    if (!this.#shut || !this.#isIdle()) return;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
