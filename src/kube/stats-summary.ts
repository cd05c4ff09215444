/**
 * What eviction reads of the Summary API (`/stats/summary`), in its JSON form. Absent and null both mean: not measured.
 * Whoever collects statistics may give more.
 */
export interface StatsSummary {
  readonly node: NodeStats;
  readonly pods?: readonly PodStats[] | null;
}

/** A number that may not have been measured. */
type Measured = number | null | undefined;

/** Memory, bytes; `time` is RFC 3339. */
export interface MemoryStats {
  readonly time?: string | null;
  readonly availableBytes?: Measured;
  readonly workingSetBytes?: Measured;
}

/** A file system, or one user's part of it. */
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
  /** The one called `pods` tells of all pods together. */
  readonly systemContainers?: readonly ContainerStats[] | null;
  readonly memory?: MemoryStats | null;
  readonly fs?: FsStats | null;
  readonly runtime?: { readonly imageFs?: FsStats | null; readonly containerFs?: FsStats | null } | null;
  readonly rlimit?: RlimitStats | null;
}

/** Of one volume, by its name in the pod. */
export interface VolumeStats extends FsStats {
  readonly name: string;
  /** The claim that it is of. */
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

/** The statistics of a pod, by the pod's UID; `undefined`: none were taken, nothing of it runs. */
export type StatsOf = (uid: string) => PodStats | undefined;

/** Looks pods up by UID. Follows kubelet `cachedStatsFunc`. */
export function statsByUid({ pods }: StatsSummary): StatsOf {
  const byUid = new Map((pods ?? []).map((stats) => [stats.podRef.uid, stats]));
  return (uid) => byUid.get(uid);
}

/** How the node's storage is laid out; asked once. */
export interface FileSystemLayout {
  /** Images lie on a file system of their own. */
  readonly dedicatedImageFs: boolean;
  /** Writable layers lie apart from the images, with the node's own files. */
  readonly splitContainerFs: boolean;
}
