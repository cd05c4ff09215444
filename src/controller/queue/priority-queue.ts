import { type Clock, type StopTimer, steadyNow } from '../../base/clock.ts';
import type { Cause } from '../reconcile.ts';
import type { Request } from '../types.ts';
import { Heap } from './heap.ts';
import { type ReadyEntry, ReadyQueue } from './ready-queue.ts';
import { keyOf, type RateLimiter } from './rate-limiter.ts';

/** The priority of what is not news: objects of a first list, and resyncs. Live events have 0. */
export const lowPriority = -100;

/** The most causes that a request carries. */
const maxCauses = 32;

const noOptions: AddOptions = {};

/** The cause of an addition; the queue adds the time. */
export type EventCause = Omit<Cause, 'at'>;

/** The headers of a span: W3C `traceparent`. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** How a request is added. */
export interface AddOptions {
  /** Time until the request is due, ms. Of several times for one request the earliest wins. */
  readonly after?: number | undefined;
  /** Delays the request as the rate limiter says; with `after`, the shorter delay applies. */
  readonly rateLimited?: boolean | undefined;
  /** Requests with a higher priority are taken first. A waiting request keeps its highest priority. Default 0. */
  readonly priority?: number | undefined;
  /** Why the request is added. */
  readonly cause?: EventCause | undefined;
  /** The span of the event; the reconcile continues the trace of the first event that asked for it. */
  readonly trace?: TraceHeaders | undefined;
}

/** RequestQueue is the part of a queue that event handlers use. */
export interface RequestQueue {
  add(request: Request): void;
  /** Adds a request once `ms` have passed. */
  addAfter(request: Request, ms: number): void;
  /** Adds a request when the rate limiter permits. */
  addRateLimited(request: Request): void;
  addWithOpts(options: AddOptions, ...requests: readonly Request[]): void;
}

/** Receives the metrics of a queue. Durations are ms. */
export interface QueueMetrics {
  /** The number of requests of this priority that are due changed by `change`. */
  depth(priority: number, change: 1 | -1): void;
  added(): void;
  /** A request was taken this long after it had become due. */
  waited(ms: number): void;
  /** The work on a request took this long. */
  worked(ms: number): void;
  retried(): void;
}

/** A request taken from a queue. */
export interface Taken {
  readonly request: Request;
  readonly priority: number;
  readonly causes: readonly Cause[];
  readonly trace: TraceHeaders | undefined;
  /** How long it was due before it was taken, ms. */
  readonly waitedMs: number;
  /** When it was taken, on the steady clock, ms. */
  readonly takenAt: number;
}

/** A request that waits in a queue. */
export interface WaitingRequest {
  readonly request: Request;
  readonly priority: number;
  /** ms until it is due; 0: it is. */
  readonly dueIn: number;
  readonly causes: readonly Cause[];
}

export interface PriorityQueueOptions {
  readonly clock: Clock;
  readonly rateLimiter: RateLimiter;
  readonly metrics?: QueueMetrics;
  /** `false` ignores priorities: first in, first out. Default true. */
  readonly usePriority?: boolean;
}

/** A cause of a request that waits, with its time. */
interface DatedCause {
  readonly cause: EventCause;
  readonly at: number;
}

/** A request in the queue; once it has been taken, nothing changes it any more. */
class Item implements Taken, ReadyEntry {
  readonly key: string;
  readonly request: Request;
  priority: number;
  order: number;
  bucket: ReadyEntry['bucket'] = undefined;
  due = false;
  /** When the item becomes due; only while it is not. */
  readyAt: number | undefined = undefined;
  /** When the item became due. */
  since = 0;
  /** Its place among the items that wait for their time; a place that is no item's any more is skipped. */
  place: Place | undefined = undefined;
  trace: TraceHeaders | undefined = undefined;
  takenAt = 0;
  /** Most items have one cause. */
  #first: EventCause | undefined = undefined;
  #firstAt = 0;
  #later: DatedCause[] | undefined = undefined;

  constructor(
    key: string,
    { namespace, name }: Request,
    { priority, order }: Pick<Item, 'priority' | 'order'>,
  ) {
    this.key = key;
    this.request = { namespace, name };
    this.priority = priority;
    this.order = order;
  }

  get waitedMs(): number {
    return this.takenAt - this.since;
  }

  addCause(cause: EventCause, at: number): void {
    if (!this.#first) {
      this.#first = cause;
      this.#firstAt = at;
      return;
    }
    this.#later ??= [];
    this.#later.push({ cause, at });
    if (this.#later.length < maxCauses) return;
    const [oldest = { cause, at }] = this.#later.splice(0, 1);
    this.#first = oldest.cause;
    this.#firstAt = oldest.at;
  }

  /** Made when it is read: most reconcilers do not ask. */
  get causes(): readonly Cause[] {
    if (!this.#first) return [];
    const first = causeOf(this.#first, this.#firstAt);
    return this.#later ? [first, ...this.#later.map(({ cause, at }) => causeOf(cause, at))] : [first];
  }
}

const causeOf = ({ type, source, object }: EventCause, at: number): Cause => ({
  type,
  source,
  ...(object && { object }),
  at,
});

/** A place among the items that become due later. */
interface Place {
  readonly item: Item;
  readonly order: number;
  readonly readyAt: number;
}

/**
 * PriorityQueue queues requests: each waits at most once and is worked on at most once at a time; one that is added during the work is
 * queued again after it.
 *
 * After controller-runtime's `priorityqueue`.
 *
 * @example
 * const queue = new PriorityQueue({ clock, rateLimiter: defaultControllerRateLimiter(clock) });
 * queue.addWithOpts({ priority: -100 }, { namespace, name });
 */
export class PriorityQueue implements RequestQueue {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #metrics: QueueMetrics | undefined;
  readonly #usePriority: boolean;
  readonly #items = new Map<string, Item>();
  readonly #ready = new ReadyQueue<Item>();
  readonly #waiting = new Heap<Place>(
    (one, other) => one.readyAt < other.readyAt || (one.readyAt === other.readyAt && one.order < other.order),
  );
  /** The requests being worked on, with the time when each was taken. */
  readonly #locked = new Map<string, number>();
  readonly #takers: ((item: Taken | undefined) => void)[] = [];
  #due = 0;
  #order = 0;
  #shut = false;
  #dispatching = false;
  #alarm: { readonly at: number; readonly stop: StopTimer } | undefined;

  constructor({ clock, rateLimiter, metrics, usePriority = true }: PriorityQueueOptions) {
    this.#clock = clock;
    this.#limiter = rateLimiter;
    this.#metrics = metrics;
    this.#usePriority = usePriority;
  }

  /** The number of requests that are due and not yet taken. */
  get length(): number {
    return this.#due;
  }

  /** The number of requests that become due later. */
  get delayed(): number {
    return this.#items.size - this.#due;
  }

  /** The number of requests being worked on. */
  get inFlight(): number {
    return this.#locked.size;
  }

  get shuttingDown(): boolean {
    return this.#shut;
  }

  /** The requests that wait: first those that are due, in the order in which they are taken, then the others by their time. */
  get waiting(): readonly WaitingRequest[] {
    const now = steadyNow(this.#clock);
    return [...this.#items.values()]
      .sort((a, b) => (a.readyAt ?? 0) - (b.readyAt ?? 0) || b.priority - a.priority || a.order - b.order)
      .map(({ request, priority, readyAt = now, due, causes }) => {
        const dueIn = due ? 0 : Math.max(1, readyAt - now);
        return { request, priority, dueIn, causes };
      });
  }

  /** The time since each request that is being worked on was taken, ms. */
  runningMs(): readonly number[] {
    const now = steadyNow(this.#clock);
    return [...this.#locked.values()].map((since) => now - since);
  }

  add(request: Request): void {
    this.#add(request, noOptions);
  }

  addAfter(request: Request, ms: number): void {
    this.#add(request, { after: ms });
  }

  addRateLimited(request: Request): void {
    this.#add(request, { rateLimited: true });
  }

  addWithOpts(options: AddOptions, ...requests: readonly Request[]): void {
    for (const request of requests) this.#add(request, options);
  }

  /** Forgets the failures of `request`. */
  forget(request: Request): void {
    this.#limiter.forget(request);
  }

  /** The number of failures of `request` since it was last forgotten. */
  numRequeues(request: Request): number {
    return this.#limiter.numRequeues(request);
  }

  /** Takes the next request, and waits for one; call {@link done} after the work. Resolves to `undefined` once the queue is shut down. */
  take(): Promise<Taken | undefined> | Taken | undefined {
    if (this.#shut) return undefined;
    // who waits longer is served first
    const item = this.#takers.length === 0 ? this.#pop() : undefined;
    if (item) return item;
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#dispatchSoon();
    });
  }

  /** Ends the work on `request`: if it was added meanwhile, it can be taken again. */
  done(request: Request): void {
    const key = keyOf(request);
    const since = this.#locked.get(key);
    if (since === undefined) return;
    this.#locked.delete(key);
    this.#metrics?.worked(steadyNow(this.#clock) - since);
    const item = this.#items.get(key);
    if (!item?.due || this.#shut) return;
    this.#ready.push(item);
    this.#dispatchSoon();
  }

  /** Accepts and returns no more requests. */
  shutDown(): void {
    if (this.#shut) return;
    this.#shut = true;
    this.#alarm?.stop();
    this.#alarm = undefined;
    this.#ready.clear();
    this.#waiting.clear();
    for (const { due, priority } of this.#items.values()) if (due) this.#metrics?.depth(priority, -1);
    this.#items.clear();
    this.#due = 0;
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #add(request: Request, options: AddOptions): void {
    if (this.#shut) return;
    const after = this.#delayOf(request, options);
    if (after > 0) this.#metrics?.retried();
    const priority = this.#usePriority ? (options.priority ?? 0) : 0;
    const key = keyOf(request);
    let item = this.#items.get(key);
    if (!item) {
      item = new Item(key, request, { priority, order: this.#order++ });
      this.#items.set(key, item);
    } else if (priority > item.priority) this.#raise(item, priority);
    if (options.cause) item.addCause(options.cause, this.#clock.now());
    item.trace ??= options.trace;
    this.#schedule(item, after);
  }

  #delayOf(request: Request, { after = 0, rateLimited = false }: AddOptions): number {
    if (!rateLimited) return after;
    const limit = this.#limiter.when(request);
    return after > 0 ? Math.min(after, limit) : limit;
  }

  /** Gives a waiting item a higher priority, at the end of those that have it. */
  #raise(item: Item, priority: number): void {
    const { due } = item;
    if (due) this.#metrics?.depth(item.priority, -1);
    item.priority = priority;
    item.order = this.#order++;
    if (!due) return;
    this.#metrics?.depth(priority, 1);
    if (!this.#locked.has(item.key)) this.#ready.push(item);
  }

  #schedule(item: Item, after: number): void {
    if (item.due) return;
    if (!(after > 0)) {
      this.#becomeDue(item, steadyNow(this.#clock));
      this.#dispatchSoon();
      return;
    }
    const at = steadyNow(this.#clock) + after;
    if (item.readyAt !== undefined && at >= item.readyAt) return;
    item.readyAt = at;
    item.place = { item, order: item.order, readyAt: at };
    this.#waiting.push(item.place);
    this.#setAlarm();
  }

  #becomeDue(item: Item, now: number): void {
    item.due = true;
    item.readyAt = undefined;
    item.since = now;
    this.#due++;
    this.#metrics?.added();
    this.#metrics?.depth(item.priority, 1);
    item.place = undefined;
    if (!this.#locked.has(item.key)) this.#ready.push(item);
  }

  /** Plans one timer for the earliest of the waiting items. */
  #setAlarm(): void {
    for (let first = this.#waiting.peek(); first && first.item.place !== first; first = this.#waiting.peek())
      this.#waiting.pop();
    const at = this.#waiting.peek()?.readyAt;
    if (at === this.#alarm?.at) return;
    this.#alarm?.stop();
    this.#alarm = undefined;
    if (at === undefined) return;
    const stop = this.#clock.timer(Math.max(0, at - steadyNow(this.#clock)), () => {
      this.#alarm = undefined;
      this.#ring();
    });
    this.#alarm = { at, stop };
  }

  /** Makes the waiting items due whose time has come. They are ordered by when they became due. */
  #ring(): void {
    const now = steadyNow(this.#clock);
    for (let first = this.#waiting.peek(); first; first = this.#waiting.peek()) {
      const { item } = first;
      if (item.place === first && first.readyAt > now) break;
      this.#waiting.pop();
      if (item.place !== first) continue;
      item.order = this.#order++;
      this.#becomeDue(item, now);
    }
    this.#setAlarm();
    this.#dispatchSoon();
  }

  #pop(): Taken | undefined {
    const item = this.#ready.pop();
    if (!item) return undefined;
    const now = steadyNow(this.#clock);
    this.#items.delete(item.key);
    this.#locked.set(item.key, now);
    this.#due--;
    item.takenAt = now;
    this.#metrics?.depth(item.priority, -1);
    this.#metrics?.waited(item.waitedMs);
    return item;
  }

  /** Serves those who wait after the current turn, so that what one turn adds is de-duplicated and ordered first. */
  #dispatchSoon(): void {
    if (this.#dispatching || this.#takers.length === 0) return;
    this.#dispatching = true;
    queueMicrotask(() => {
      this.#dispatching = false;
      while (this.#takers.length > 0) {
        const item = this.#pop();
        if (!item) return;
        this.#takers.shift()?.(item);
      }
    });
  }
}
