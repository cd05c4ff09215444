import { expect, test } from 'vitest';
import { nextShards } from '../../src/simulate/shard-plan.ts';

/** Plays processes in turn until none changes anything; returns the number of shards of each. */
function settled(
  shards: number,
  processes: readonly Set<number>[],
  orderOf = (turn: number): number => turn,
): number[] {
  for (let turn = 0, idle = 0; idle < processes.length; turn++) {
    if (turn > 10_000) throw new Error('no end');
    const at = orderOf(turn) % processes.length;
    const held = processes[at] ?? new Set<number>();
    const others = processes.filter((_, index) => index !== at);
    const taken = new Set(processes.flatMap((one) => [...one]));
    const free = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !taken.has(shard));
    const { take, give } = nextShards({ shards, held, free, others: others.map(({ size }) => size) });
    for (const shard of give) expect(held.delete(shard)).toBe(true);
    for (const shard of take) held.add(shard);
    idle = take.length + give.length > 0 ? 0 : idle + 1;
  }
  return processes.map(({ size }) => size);
}

const all = (shards: number): Set<number> => new Set(Array.from({ length: shards }, (_, shard) => shard));

test('a process that is alone takes every shard at once', () => {
  expect(nextShards({ shards: 3, held: new Set(), free: [0, 1, 2], others: [] })).toEqual({
    take: [0, 1, 2],
    give: [],
  });
});

test.each([
  [4, 2, [2, 2]],
  [4, 3, [2, 1, 1]],
  [7, 3, [3, 2, 2]],
  [2, 3, [1, 1, 0]],
])('%i shards of one process are divided evenly when there are %i', (shards, count, expected) => {
  const processes = [all(shards), ...Array.from({ length: count - 1 }, () => new Set<number>())];
  const sizes = settled(shards, processes).sort((a, b) => b - a);
  expect(sizes).toEqual(expected);
  expect(new Set(processes.flatMap((one) => [...one])).size).toBe(shards);
});

test('the shards of a lost process are divided among the others', () => {
  const [a, b] = [new Set([0, 1]), new Set([2, 3])];
  expect(settled(6, [a, b])).toEqual([3, 3]);
});

test('what is even stays as it is', () => {
  expect(nextShards({ shards: 4, held: new Set([0, 1]), free: [], others: [1, 1] })).toEqual({
    take: [],
    give: [],
  });
});
