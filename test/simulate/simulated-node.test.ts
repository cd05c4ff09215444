import { expect, test } from 'vitest';
import { KeyedRandom } from '../../src/simulate/keyed-random.ts';
import { nodeNames } from '../../src/simulate/node-names.ts';
import { kubeletPeriods } from '../../src/simulate/simulated-node.ts';

test('nodes that start together do their housekeeping at different times, and the same ones with the same seed', () => {
  const periodsOf = (seed: string) =>
    nodeNames('node', 200).map((name) => kubeletPeriods(new KeyedRandom(seed).of('kubelet', name)));
  const periods = periodsOf('7');
  expect(periodsOf('7')).toEqual(periods);
  const housekeeping = periods.map(({ housekeepingMs = 0 }) => housekeepingMs);
  expect(Math.min(...housekeeping)).toBeGreaterThanOrEqual(10_000);
  expect(Math.max(...housekeeping)).toBeLessThanOrEqual(12_000);
  const inEachTick = Map.groupBy(housekeeping, (ms) => Math.ceil(ms / 100));
  expect(Math.max(...[...inEachTick.values()].map(({ length }) => length))).toBeLessThan(30);
  expect(new Set(periods.map(({ relistMs }) => relistMs)).size).toBeGreaterThan(150);
});
