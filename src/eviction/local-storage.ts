import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  signOfQuantity,
  zeroQuantity,
} from '../kube/resources/quantity.ts';
import { podLimits } from '../kube/resources/resources.ts';
import type { Pod } from '../kube/types.ts';
import type { PodStats, FileSystemLayout } from '../kube/stats-summary.ts';
import { diskUsage } from './usage.ts';

/** An exceeded limit. */
interface Violation {
  /** Name in metrics. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

const violation = (signal: Violation['signal'], message: string): Violation => ({ signal, message });

/**
 * Returns the first local storage limit that a pod exceeds: an emptyDir's size, then the pod's ephemeral storage, then a
 * container's.
 *
 * Follows kubelet `eviction.managerImpl.localStorageEviction`.
 */
export const localStorageViolation = (
  pod: Pod,
  stats: PodStats,
  layout: FileSystemLayout,
): Violation | undefined =>
  emptyDirViolation(pod, stats) ?? podViolation(pod, stats) ?? containerViolation(pod, stats, layout);

function emptyDirViolation(pod: Pod, stats: PodStats): Violation | undefined {
  for (const { name, emptyDir } of pod.spec?.volumes ?? []) {
    if (emptyDir?.sizeLimit == null) continue;
    const limit = parseQuantity(emptyDir.sizeLimit);
    const used = stats.volume?.findLast((volume) => volume.name === name);
    if (used && signOfQuantity(limit) > 0 && compareQuantities(diskUsage(used), limit) > 0)
      return violation(
        'emptydirfs.limit',
        `Usage of EmptyDir volume "${name}" exceeds the limit "${formatQuantity(limit)}". `,
      );
  }
  return undefined;
}

function podViolation(pod: Pod, stats: PodStats): Violation | undefined {
  const limit = podLimits(pod)['ephemeral-storage'];
  if (!limit || compareQuantities(diskUsage(stats['ephemeral-storage']), limit) <= 0) return undefined;
  return violation(
    'ephemeralpodfs.limit',
    `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `,
  );
}

/** Checks the containers' limits. Logs always count; the writable layer counts when it is on the node's file system. */
function containerViolation(pod: Pod, stats: PodStats, layout: FileSystemLayout): Violation | undefined {
  for (const { name, rootfs, logs } of stats.containers ?? []) {
    const container = pod.spec?.containers.findLast((each) => each.name === name);
    const text = container?.resources?.limits?.['ephemeral-storage'];
    const limit = text === undefined ? zeroQuantity : parseQuantity(text);
    if (signOfQuantity(limit) === 0) continue;
    const used = layout.dedicatedImageFs
      ? diskUsage(logs)
      : addQuantities(diskUsage(logs), diskUsage(rootfs));
    if (compareQuantities(limit, used) < 0)
      return violation(
        'ephemeralcontainerfs.limit',
        `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(limit)}". `,
      );
  }
  return undefined;
}
