import { uidOf } from '../kube/names.ts';
import { compareQuantities, type Quantity, subQuantities } from '../kube/resources/quantity.ts';
import { podRequestOf } from '../kube/resources/resources.ts';
import type { Pod } from '../kube/types.ts';
import { type Signal, signalFacts } from './signals.ts';
import type { PodStats, StatsOf, FileSystemLayout } from '../kube/stats-summary.ts';
import { type DiskPart, type DiskResource, memoryUsage, podDiskUsage } from './usage.ts';

/** Negative when the first pod is evicted first. */
export type ComparePods = (a: Pod, b: Pod) => number;

/**
 * Sorts pods in the order of eviction for `signal` (R250): those above their request first, then lower priority, then larger usage above
 * the request. Pods without statistics come first in comparisons of usage; the sort is stable.
 *
 * Follows kubelet `buildSignalToRankFunc`.
 */
export function rankPods(
  pods: readonly Pod[],
  stats: StatsOf,
  signal: Signal,
  layout: FileSystemLayout,
): readonly Pod[] {
  return pods.toSorted(orderFor(stats, signal, layout));
}

/** Returns the comparison of {@link rankPods}, a strict weak order. */
export function orderFor(stats: StatsOf, signal: Signal, layout: FileSystemLayout): ComparePods {
  const { resource } = signalFacts[signal];
  switch (resource) {
    case 'memory':
      return inTurn(exceeds(stats, useOfMemory), byPriority, byUse(stats, useOfMemory));
    case 'pids':
      return inTurn(byPriority, byProcesses(stats));
    case 'ephemeral-storage':
    case 'inodes': {
      const use = useOfDisk(diskPartsOf(signal, layout), resource);
      return inTurn(exceeds(stats, use), byPriority, byUse(stats, use));
    }
  }
}

const everywhere: readonly DiskPart[] = ['root', 'logs', 'localVolumes'];

/** Returns the parts of a pod's disk usage that count when a file system is short. */
function diskPartsOf(signal: Signal, layout: FileSystemLayout): ReadonlySet<DiskPart> {
  return new Set(partsTable(layout)[signal.split('.')[0] ?? ''] ?? everywhere);
}

function partsTable(layout: FileSystemLayout): Readonly<Record<string, readonly DiskPart[]>> {
  if (!layout.dedicatedImageFs) return { nodefs: everywhere, imagefs: everywhere, containerfs: everywhere };
  // Images belong to no pod.
  if (layout.splitContainerFs) return { nodefs: everywhere, imagefs: [], containerfs: everywhere };
  return { nodefs: ['logs', 'localVolumes'], imagefs: ['root'], containerfs: ['root'] };
}

/** Usage of the starved resource, and the request that it is compared with. */
interface Use {
  readonly used: (pod: Pod, stats: PodStats) => Quantity;
  /** Limit for deciding whether a pod exceeds its request. */
  readonly limit: (pod: Pod) => Quantity;
  /** Amount subtracted before usages are compared. */
  readonly request: (pod: Pod) => Quantity;
}

const memoryRequest = (pod: Pod): Quantity => podRequestOf(pod, 'memory');
const storageRequest = (pod: Pod): Quantity => podRequestOf(pod, 'ephemeral-storage');

const useOfMemory: Use = {
  used: (_, stats) => memoryUsage(stats),
  limit: memoryRequest,
  request: memoryRequest,
};

/** There are no inode requests, yet the storage request is subtracted from inode usage, as in the kubelet. */
const useOfDisk = (parts: ReadonlySet<DiskPart>, resource: DiskResource): Use => ({
  used: (pod, stats) => podDiskUsage(pod, stats, parts, resource),
  limit: (pod) => podRequestOf(pod, resource),
  request: storageRequest,
});

const inTurn =
  (...orders: readonly ComparePods[]): ComparePods =>
  (a, b) => {
    for (const order of orders) {
      const difference = order(a, b);
      if (difference !== 0) return difference;
    }
    return 0;
  };

const byPriority: ComparePods = (a, b) => (a.spec?.priority ?? 0) - (b.spec?.priority ?? 0);

/** Compares by statistics; a pod without statistics comes first. */
const withStats =
  (
    stats: StatsOf,
    compare: (a: readonly [Pod, PodStats], b: readonly [Pod, PodStats]) => number,
  ): ComparePods =>
  (a, b) => {
    const [ofA, ofB] = [stats(uidOf(a)), stats(uidOf(b))];
    return ofA && ofB ? compare([a, ofA], [b, ofB]) : trueFirst(!ofA, !ofB);
  };

const trueFirst = (a: boolean, b: boolean): number => Number(b) - Number(a);

const exceeds = (stats: StatsOf, { used, limit }: Use): ComparePods => {
  const over = ([pod, own]: readonly [Pod, PodStats]): boolean =>
    compareQuantities(used(pod, own), limit(pod)) > 0;
  return withStats(stats, (a, b) => trueFirst(over(a), over(b)));
};

const byUse = (stats: StatsOf, { used, request }: Use): ComparePods => {
  const above = ([pod, own]: readonly [Pod, PodStats]): Quantity =>
    subQuantities(used(pod, own), request(pod));
  return withStats(stats, (a, b) => compareQuantities(above(b), above(a)));
};

const byProcesses = (stats: StatsOf): ComparePods =>
  withStats(stats, ([, a], [, b]) => processes(b) - processes(a));

const processes = ({ process_stats: stats }: PodStats): number => stats?.process_count ?? 0;
