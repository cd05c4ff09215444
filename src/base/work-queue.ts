import { type Clock, type StopTimer, steadyNow } from './clock.ts';

/** What a queue tells whoever counts (client-go `workqueue` metrics). Spans are ms. */
export interface WorkQueueMetrics {
  depth?(length: number): void;
  added?(): void;
  /** Time between becoming due and being taken. */
  waited?(ms: number): void;
  /** Time between being taken and being done. */
  worked?(ms: number): void;
  retried?(): void;
}

/** How a queue holds back what failed. Defaults are client-go's controller limits. */
export interface WorkQueueOptions {
  /** Wait after an item's first failure, ms; doubles with each further one. Default 5. */
  readonly baseDelayMs?: number;
  /** Longest wait after a failure, ms. Default 1,000 s. */
  readonly maxDelayMs?: number;
  /** Rate-limited adds a second over all items; 0: no limit. Default 10. */
  readonly qps?: number;
  /** Rate-limited adds that may come at once. Default 100. */
  readonly burst?: number;
  readonly metrics?: WorkQueueMetrics;
}

/** How an item is added. */
export interface AddOptions {
  /** Higher goes first; among equals the one that is due longest. A waiting item keeps its highest. Default 0. */
  readonly priority?: number;
  /** Not before this long from now, ms. An earlier time for the same item wins. */
  readonly afterMs?: number;
}

interface Waiting {
  readonly priority: number;
  readonly since: number;
  readonly order: number;
}

/**
 * Work by key: an item waits at most once, is worked on by at most one worker, and when it is added meanwhile comes again
 * afterwards. Adds may be delayed, or held back by how often the item failed and by a rate over all.
 *
 * After client-go `util/workqueue` (rate limiting, priority).
 */
export class WorkQueue<Key> {
  readonly #clock: Clock;
  readonly #options: Required<Omit<WorkQueueOptions, 'metrics'>>;
  readonly #metrics: WorkQueueMetrics;
  readonly #waiting = new Map<Key, Waiting>();
  /** Items by priority, highest first; a taken item leaves a hole that is skipped. */
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

  /** Items that are due and wait for a worker. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Items that become due later. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Items that are being worked on. */
  get inFlight(): number {
    return this.#working.size;
  }

  /** How often `key` failed since it was forgotten. */
  failures(key: Key): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Adds `key` unless it waits already. After {@link shutDown} nothing is taken in. */
  add(key: Key, options: AddOptions = {}): void {
    if (this.#shut) return;
    const { priority = 0, afterMs = 0 } = options;
    if (afterMs > 0) this.#addLater(key, priority, afterMs);
    else this.#addNow(key, priority);
  }

  /** Adds `key` when its own back-off and the overall rate allow. */
  addRateLimited(key: Key, options: Pick<AddOptions, 'priority'> = {}): void {
    if (this.#shut) return;
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    this.#metrics.retried?.();
    const { baseDelayMs, maxDelayMs } = this.#options;
    const own = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures, 40));
    this.add(key, { ...options, afterMs: Math.max(own, this.#reserve()) });
  }

  /** `key` is well: its back-off starts anew. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** The next item; waits for one. `undefined` once the queue is shut down and empty, or when `signal` aborts. */
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

  /** The worker that took `key` has finished with it; if it was added meanwhile it waits again. */
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
   * Works with `workers` loops until `signal` aborts or the queue is shut down and empty. What `work` throws counts as a
   * failure: the item comes again after its back-off; what succeeds is forgotten.
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

  /** Takes nothing more in and drops what is delayed; what waits may still be taken. */
  shutDown(): void {
    this.#shut = true;
    for (const { stop } of this.#delayed.values()) stop();
    this.#delayed.clear();
    if (this.#waiting.size > 0) return;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
  }

  /** Shuts down and resolves when nothing waits and nothing is worked on. */
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
    const known = this.#lanes.get(priority);
    if (known) return known;
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

  /** A place in the overall rate: how long until it is due, ms. */
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
