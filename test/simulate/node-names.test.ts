import { expect, test } from 'vitest';
import { loopbackAddress, nodeNames } from '../../src/simulate/node-names.ts';

test('nodes are numbered, and each has a loopback address of its own', () => {
  expect(nodeNames('edge', 2)).toEqual(['edge-0', 'edge-1']);
  expect([0, 255, 70_000].map(loopbackAddress)).toEqual(['127.64.0.1', '127.64.1.0', '127.65.17.113']);
  const all = new Set(Array.from({ length: 100_000 }, (_, index) => loopbackAddress(index)));
  expect(all.size).toBe(100_000);
});
