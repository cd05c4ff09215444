import { addQuantities, type Quantity, quantityOf, zeroQuantity } from '../kube/resources/quantity.ts';
import type { Pod, Volume } from '../kube/types.ts';
import type { FsStats, PodStats } from '../kube/stats-summary.ts';

/** Parts of what a pod keeps on disk. */
export type DiskPart = 'root' | 'logs' | 'localVolumes';

/** Bytes or inodes. */
export type DiskResource = 'ephemeral-storage' | 'inodes';

/** Working set in bytes; nothing when it was not measured. Follows kubelet `memoryUsage`. */
export const memoryUsage = ({ memory }: PodStats): Quantity =>
  memory?.workingSetBytes == null ? zeroQuantity : quantityOf(Math.trunc(memory.workingSetBytes), 'BinarySI');

/** Bytes in use on a file system; nothing when not measured. Follows kubelet `diskUsage`. */
export const diskUsage = (fs: FsStats | null | undefined): Quantity =>
  fs?.usedBytes == null ? zeroQuantity : quantityOf(Math.trunc(fs.usedBytes), 'BinarySI');

const inodeUsage = (fs: FsStats | null | undefined): Quantity =>
  fs?.inodesUsed == null ? zeroQuantity : quantityOf(Math.trunc(fs.inodesUsed));

/** What a pod uses of `resource` in the given parts. Follows kubelet `podDiskUsage`. */
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
  if (parts.has('localVolumes'))
    for (const volume of (pod.spec?.volumes ?? []).filter(isLocalVolume))
      counted.push(used(stats.volume?.find(({ name }) => name === volume.name)));
  return counted.reduce(addQuantities, zeroQuantity);
}

/** Whether a volume's content lies on the node's disk. Follows kubelet `localVolumeNames`. */
const isLocalVolume = ({ hostPath, emptyDir, configMap, gitRepo }: Volume): boolean =>
  hostPath != null ||
  (emptyDir != null && (emptyDir.medium ?? '') === '') ||
  configMap != null ||
  gitRepo != null;
