import type { MetricFamily } from '../../metrics/family.ts';
import type { VolumeUse } from '../../containers/stats/volume-usage.ts';

interface ClaimUse extends VolumeUse {
  readonly claim: NonNullable<VolumeUse['claim']>;
}

const isOfClaim = (use: VolumeUse): use is ClaimUse => use.claim !== undefined;

const measures: readonly (readonly [key: string, help: string, of: (use: VolumeUse) => number])[] = [
  ['capacity_bytes', 'Capacity in bytes of the volume', ({ fs }) => fs?.capacityBytes ?? 0],
  ['available_bytes', 'Number of available bytes in the volume', ({ fs }) => fs?.availableBytes ?? 0],
  ['used_bytes', 'Number of used bytes in the volume', ({ usedBytes }) => usedBytes],
  ['inodes', 'Maximum number of inodes in the volume', ({ fs }) => fs?.inodes ?? 0],
  ['inodes_free', 'Number of free inodes in the volume', ({ fs }) => fs?.inodesFree ?? 0],
  ['inodes_used', 'Number of used inodes in the volume', ({ inodesUsed }) => inodesUsed],
];

/** The usage metrics of volumes with a persistent volume claim, each claim once. Follows kubelet `volumeStatsCollector`. */
export function claimMetrics(volumes: readonly VolumeUse[]): readonly MetricFamily[] {
  const claims = new Map<string, ClaimUse>();
  for (const use of volumes.filter(isOfClaim)) claims.set(`${use.claim.namespace}/${use.claim.name}`, use);
  if (claims.size === 0) return [];
  return measures.map(([key, help, of]) => ({
    name: `kubelet_volume_stats_${key}`,
    type: 'gauge',
    help,
    samples: Array.from(claims.values(), (use) => ({
      labels: { namespace: use.claim.namespace, persistentvolumeclaim: use.claim.name },
      value: of(use),
    })),
  }));
}
