/** What a process sees of the shards. */
export interface ShardView {
  /** The number of all shards. */
  readonly shards: number;
  /** The shards of this process. */
  readonly held: ReadonlySet<number>;
  /** The shards that no live process holds, in order. */
  readonly free: readonly number[];
  /** The number of shards of each other live process. */
  readonly others: readonly number[];
}

/** Which shards a process takes and gives next. */
export interface ShardChange {
  readonly take: readonly number[];
  readonly give: readonly number[];
}

const nothing: ShardChange = { take: [], give: [] };

/**
 * Decides which shards a process takes and gives, so that in the end no process holds two more than another. A process that is alone takes all
 * at once; of several, only those with the fewest take one at a time.
 */
export function nextShards({ shards, held, free, others }: ShardView): ShardChange {
  const least = Math.min(...others, Infinity);
  if (free.length === 0) {
    const last = Math.max(...held);
    return held.size - least >= 2 ? { take: [], give: [last] } : nothing;
  }
  const share = Math.ceil(shards / (others.length + 1));
  if (held.size >= share || held.size > least) return nothing;
  return { take: others.length === 0 ? free : free.slice(0, 1), give: [] };
}
