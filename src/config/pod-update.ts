import type { PodSource } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';

/**
 * What happened to the pods of a batch (R4, R40): `ADD` new, `UPDATE` changed, `DELETE` being deleted gracefully, `REMOVE` removed from
 * the source, `RECONCILE` only the status differs.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/** One minimal change for the sync loop: its pods share the operation and the source (R6). Kubelet's `PodUpdate`. */
export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  /** Empty only in the ADD that marks a source without pods as seen (R5). */
  readonly pods: readonly Pod[];
}

/** The differences between two snapshots of a source. */
export interface SnapshotChanges {
  /** New or changed pods, each full name once. */
  readonly set: readonly Pod[];
  /** Pods that were removed. */
  readonly gone: readonly Pod[];
}

/** The complete desired state of one source at one point in time (R1). */
export interface SourceSnapshot {
  readonly source: PodSource;
  /** May be computed on access. */
  readonly pods: readonly Pod[];
  /** The differences from the previous snapshot, if the source knows them: avoids listing and comparing the rest. */
  readonly changes?: SnapshotChanges;
}
