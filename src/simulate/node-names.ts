/** Returns names of simulated nodes: `PREFIX-0`, `PREFIX-1`, … */
export const nodeNames = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** The nodes of a shard: their numbers from `first` on. */
export interface NodeRange {
  readonly first: number;
  readonly count: number;
}

/** Returns the nodes of a shard: all shards have the same number of nodes, or one more. */
export function nodesOfShard(shard: number, shards: number, nodes: number): NodeRange {
  const first = Math.floor((shard * nodes) / shards);
  return { first, count: Math.floor(((shard + 1) * nodes) / shards) - first };
}

/** Returns the loopback address of the simulated node with this number: one of 127.64.0.0/10, so that each has its own. */
export function loopbackAddress(index: number): string {
  const n = index + 1;
  return `127.${64 + ((n >> 16) & 63)}.${(n >> 8) & 255}.${n & 255}`;
}
