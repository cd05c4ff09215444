import { expect, test } from 'vitest';
import { claimMetrics } from '../../../src/agent/metrics/claim-metrics.ts';
import type { VolumeUse } from '../../../src/containers/stats/volume-usage.ts';

const useOf = (name: string, usedBytes: number, claim?: string): VolumeUse => ({
  name,
  usedBytes,
  inodesUsed: 3,
  ephemeral: false,
  fs: { capacityBytes: 100, availableBytes: 50, inodes: 10, inodesFree: 7 },
  ...(claim !== undefined && { claim: { name: claim, namespace: 'shop' } }),
});

test('each claim is told of once, volumes without one are not', () => {
  const families = claimMetrics([
    useOf('data', 40, 'disk'),
    useOf('cache', 1),
    useOf('again', 40, 'disk'),
    useOf('data', 20, 'other'),
  ]);
  expect(families.map(({ name, samples }) => [name, samples.map(({ value }) => value)])).toEqual([
    ['kubelet_volume_stats_capacity_bytes', [100, 100]],
    ['kubelet_volume_stats_available_bytes', [50, 50]],
    ['kubelet_volume_stats_used_bytes', [40, 20]],
    ['kubelet_volume_stats_inodes', [10, 10]],
    ['kubelet_volume_stats_inodes_free', [7, 7]],
    ['kubelet_volume_stats_inodes_used', [3, 3]],
  ]);
  expect(families[0]?.samples[0]?.labels).toEqual({ namespace: 'shop', persistentvolumeclaim: 'disk' });
  expect(claimMetrics([useOf('cache', 1)])).toEqual([]);
});
