import { expect, test } from 'vitest';
import { loopbackAddress, nodeNames, nodesOfShard } from '../../src/simulate/node-names.ts';

test('nodes are numbered, and each has a loopback address of its own', () => {
  expect(nodeNames('edge', 2)).toEqual(['edge-0', 'edge-1']);
  expect([0, 255, 70_000].map(loopbackAddress)).toEqual(['127.64.0.1', '127.64.1.0', '127.65.17.113']);
  const all = new Set(Array.from({ length: 100_000 }, (_, index) => loopbackAddress(index)));
  expect(all.size).toBe(100_000);
});

test('the shards of a simulation have each node once', () => {
  const shards = [0, 1, 2].map((shard) => nodesOfShard(shard, 3, 10));
  expect(shards).toEqual([
    { first: 0, count: 3 },
    { first: 3, count: 3 },
    { first: 6, count: 4 },
  ]);
});
