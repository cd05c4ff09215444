import { expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { groupByPriority, shutdownWindows } from '../../src/nodeshutdown/shutdown.ts';

const podOf = (name: string, priority?: number): Pod => ({
  metadata: { name },
  spec: { containers: [{ name: 'c' }], ...(priority !== undefined && { priority }) },
});

test.for([
  [30_200, 10_200, 20, 10],
  [30_200, 10_500, 19, 10],
  [500, 0, 0, 0],
] as const)(
  'of %d ms with %d for critical pods the windows have whole seconds',
  ([total, critical, ...seconds]) => {
    expect(shutdownWindows(total, critical).map(({ graceSeconds }) => graceSeconds)).toEqual(seconds);
  },
);

test('periods that make no sense make no windows', () => {
  expect(shutdownWindows(10_000, 30_000)).toEqual([]);
  expect(shutdownWindows(10_000, -1000)).toEqual([]);
});

test('of two windows of one priority the first takes pods of just that priority, the second those above', () => {
  const windows = [
    { priority: 0, graceSeconds: 1 },
    { priority: 5, graceSeconds: 2 },
    { priority: 5, graceSeconds: 3 },
  ];
  const groups = groupByPriority(windows, [podOf('exact', 5), podOf('above', 6), podOf('none')]);
  expect(groups.map(({ pods }) => pods.map(({ metadata }) => metadata?.name))).toEqual([
    ['none'],
    ['exact'],
    ['above'],
  ]);
});
