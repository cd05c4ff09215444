/** What a {@link ReadyQueue} orders. */
export interface ReadyEntry {
  readonly priority: number;
  /** Orders the entries of one priority; unique. */
  readonly order: number;
  /** The bucket that holds the entry. Only the queue sets it. */
  bucket: Bucket | undefined;
}

/** The entries of one priority in their order. */
interface Bucket {
  readonly priority: number;
  /** Slots up to `head` are empty; an entry that has left for another bucket keeps its slot until it is passed. */
  entries: (ReadyEntry | undefined)[];
  /** The order of each slot. */
  orders: number[];
  head: number;
  /** The number of slots whose entries have left. */
  left: number;
}

/** When all buckets are empty, they are removed if there are more of them. */
const keptBuckets = 8;
/** Fewer free slots than these are not worth a copy of the bucket. */
const manySlots = 1024;

/**
 * ReadyQueue hands out entries by priority, and those of one priority by their order. Entries mostly come in their order, which costs no
 * comparison: a heap would make one for each level.
 */
export class ReadyQueue<Entry extends ReadyEntry> {
  /** The highest priority first. */
  readonly #buckets: Bucket[] = [];

  /** Adds an entry, or moves it to the bucket of its new priority. */
  push(entry: Entry): void {
    const before = entry.bucket;
    if (before) {
      entry.bucket = undefined;
      this.#leave(before);
    }
    const bucket = this.#bucketOf(entry.priority);
    entry.bucket = bucket;
    const { entries, orders } = bucket;
    const last = orders.length > bucket.head ? (orders.at(-1) ?? -Infinity) : -Infinity;
    if (last < entry.order) {
      entries.push(entry);
      orders.push(entry.order);
      return;
    }
    const at = placeOf(bucket, entry.order);
    entries.splice(at, 0, entry);
    orders.splice(at, 0, entry.order);
  }

  /** Removes and returns the first entry. */
  pop(): Entry | undefined {
    const buckets = this.#buckets;
    for (const bucket of buckets) {
      const entry = shift(bucket);
      if (!entry) continue;
      entry.bucket = undefined;
      return entry as Entry;
    }
    if (buckets.length > keptBuckets) buckets.length = 0;
    return undefined;
  }

  clear(): void {
    for (const { entries } of this.#buckets) for (const entry of entries) if (entry) entry.bucket = undefined;
    this.#buckets.length = 0;
  }

  #bucketOf(priority: number): Bucket {
    const buckets = this.#buckets;
    let at = 0;
    for (const bucket of buckets) {
      if (bucket.priority === priority) return bucket;
      if (bucket.priority < priority) break;
      at++;
    }
    const bucket: Bucket = { priority, entries: [], orders: [], head: 0, left: 0 };
    buckets.splice(at, 0, bucket);
    return bucket;
  }

  #leave(bucket: Bucket): void {
    bucket.left++;
    if (bucket.left < manySlots || 2 * bucket.left < bucket.entries.length - bucket.head) return;
    const { entries, orders } = bucket;
    const isHere = (at: number): boolean => entries[at]?.bucket === bucket;
    bucket.orders = orders.filter((_order, at) => isHere(at));
    bucket.entries = entries.filter((_entry, at) => isHere(at));
    bucket.head = 0;
    bucket.left = 0;
  }
}

/** Removes and returns the first entry of a bucket that has not left it. */
function shift(bucket: Bucket): ReadyEntry | undefined {
  const { entries, orders } = bucket;
  while (bucket.head < entries.length) {
    const entry = entries[bucket.head];
    entries[bucket.head++] = undefined;
    if (entry?.bucket !== bucket) {
      bucket.left--;
      continue;
    }
    trim(bucket);
    return entry;
  }
  entries.length = 0;
  orders.length = 0;
  bucket.head = 0;
  return undefined;
}

/** Drops the slots before the head when they are the larger part. */
function trim(bucket: Bucket): void {
  const { entries, orders, head } = bucket;
  if (head < manySlots || 2 * head < entries.length) return;
  bucket.entries = entries.slice(head);
  bucket.orders = orders.slice(head);
  bucket.head = 0;
}

/** Returns the place of an order by binary search. */
function placeOf({ orders, head }: Bucket, order: number): number {
  let [low, high] = [head, orders.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((orders[middle] ?? Infinity) < order) low = middle + 1;
    else high = middle;
  }
  return low;
}
