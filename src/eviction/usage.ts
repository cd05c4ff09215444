import { addQuantities, type Quantity, quantityOf, zeroQuantity } from '../kube/resources/quantity.ts';
import type { Pod, Volume } from '../kube/types.ts';
import type { FsStats, PodStats } from '../kube/stats-summary.ts';

/** Parts of a pod's disk usage. */
export type DiskPart = 'root' | 'logs' | 'localVolumes';

/** Bytes or inodes. */
export type DiskResource = 'ephemeral-storage' | 'inodes';

/** Returns the working set in bytes; 0 when it was not measured. Follows kubelet `memoryUsage`. */
export const memoryUsage = ({ memory }: PodStats): Quantity =>
  memory?.workingSetBytes == null ? zeroQuantity : quantityOf(Math.trunc(memory.workingSetBytes), 'BinarySI');

/** Returns the used bytes of a file system; 0 when not measured. Follows kubelet `diskUsage`. */
export const diskUsage = (fs: FsStats | null | undefined): Quantity =>
  fs?.usedBytes == null ? zeroQuantity : quantityOf(Math.trunc(fs.usedBytes), 'BinarySI');

const inodeUsage = (fs: FsStats | null | undefined): Quantity =>
  fs?.inodesUsed == null ? zeroQuantity : quantityOf(Math.trunc(fs.inodesUsed));

/** Returns a pod's usage of `resource` in these parts. Follows kubelet `podDiskUsage`. */
export function podDiskUsage(
  pod: Pod,
  stats: PodStats,
  parts: ReadonlySet<DiskPart>,
  resource: DiskResource,
): Quantity {
  const used = resource === 'inodes' ? inodeUsage : diskUsage;
  const counted: Quantity[] = [];
  for (const container of stats.containers ?? []) {
    if (parts.has('root')) counted.push(used(container.rootfs));
    if (parts.has('logs')) counted.push(used(container.logs));
  }
  if (parts.has('localVolumes')) {
    const firstByName = new Map((stats.volume ?? []).toReversed().map((volume) => [volume.name, volume]));
    for (const { name } of (pod.spec?.volumes ?? []).filter(isLocalVolume))
      counted.push(used(firstByName.get(name)));
  }
  return counted.reduce(addQuantities, zeroQuantity);
}

/** True when a volume's content is on the node's disk. Follows kubelet `localVolumeNames`. */
const isLocalVolume = ({ hostPath, emptyDir, configMap, gitRepo }: Volume): boolean =>
  hostPath != null ||
  (emptyDir != null && (emptyDir.medium ?? '') === '') ||
  configMap != null ||
  gitRepo != null;
