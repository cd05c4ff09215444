/**
 * The part of the Summary API (`/stats/summary`) that eviction reads, in its JSON form. Absent and null both mean: not measured.
 * Providers of statistics may add more.
 */
export interface StatsSummary {
  readonly node: NodeStats;
  readonly pods?: readonly PodStats[] | null;
}

/** A number that may not have been measured. */
type Measured = number | null | undefined;

/** Memory usage, bytes; `time` is RFC 3339. */
export interface MemoryStats {
  readonly time?: string | null;
  readonly availableBytes?: Measured;
  readonly workingSetBytes?: Measured;
}

/** Usage of a file system, or of one user's part of it. */
export interface FsStats {
  readonly time?: string | null;
  readonly availableBytes?: Measured;
  readonly capacityBytes?: Measured;
  readonly usedBytes?: Measured;
  readonly inodesFree?: Measured;
  readonly inodes?: Measured;
  readonly inodesUsed?: Measured;
}

/** Process IDs of the node. */
export interface RlimitStats {
  readonly time?: string | null;
  readonly maxpid?: Measured;
  readonly curproc?: Measured;
}

export interface ContainerStats {
  readonly name: string;
  readonly memory?: MemoryStats | null;
  readonly rootfs?: FsStats | null;
  readonly logs?: FsStats | null;
}

export interface NodeStats {
  /** System containers; `pods` is the total of all pods. */
  readonly systemContainers?: readonly ContainerStats[] | null;
  readonly memory?: MemoryStats | null;
  readonly fs?: FsStats | null;
  readonly runtime?: { readonly imageFs?: FsStats | null; readonly containerFs?: FsStats | null } | null;
  readonly rlimit?: RlimitStats | null;
}

/** Usage of a volume, by its name in the pod. */
export interface VolumeStats extends FsStats {
  readonly name: string;
  /** The persistent volume claim of the volume. */
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers?: readonly ContainerStats[] | null;
  readonly memory?: MemoryStats | null;
  readonly volume?: readonly VolumeStats[] | null;
  readonly 'ephemeral-storage'?: FsStats | null;
  readonly process_stats?: { readonly process_count?: Measured } | null;
}

/** Returns the statistics of a pod by UID; `undefined` when there are none, as nothing of it runs. */
export type StatsOf = (uid: string) => PodStats | undefined;

/** Indexes pods by UID. Follows kubelet `cachedStatsFunc`. */
export function statsByUid({ pods }: StatsSummary): StatsOf {
  const byUid = new Map((pods ?? []).map((stats) => [stats.podRef.uid, stats]));
  return (uid) => byUid.get(uid);
}

/** Layout of the node's storage; determined once. */
export interface FileSystemLayout {
  /** True when images have a file system of their own. */
  readonly dedicatedImageFs: boolean;
  /** True when writable layers are not with the images but on the node's file system. */
  readonly splitContainerFs: boolean;
}
