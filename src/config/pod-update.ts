import type { PodSource } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';

/**
 * What happened to the pods of a batch (R4, R40): `ADD` new, `UPDATE` changed, `DELETE` being deleted gracefully,
 * `REMOVE` gone from the source, `RECONCILE` only the status differs.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/** One minimal change, as the sync loop takes it: every pod shares the operation and the source (R6). Kubelet's `PodUpdate`. */
export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  /** Empty only in the ADD that marks a source without pods as seen (R5). */
  readonly pods: readonly Pod[];
}

/** What differs between two snapshots of a source. */
export interface SnapshotChanges {
  /** New or changed pods, each full name once. */
  readonly set: readonly Pod[];
  /** Pods that are no longer there. */
  readonly gone: readonly Pod[];
}

/** The whole desired state of one source at one moment (R1). */
export interface SourceSnapshot {
  readonly source: PodSource;
  /** May be listed when it is asked for. */
  readonly pods: readonly Pod[];
  /** What differs from the snapshot before, where the source knows it: spares listing and comparing the rest. */
  readonly changes?: SnapshotChanges;
}
