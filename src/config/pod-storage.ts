import {
  configSeenAnnotation,
  configSourceAnnotation,
  fullNameOf,
  type PodSource,
  uidOf,
} from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { mergeKnownPod } from './pod-changes.ts';
import type { PodOperation, PodUpdate, SnapshotChanges, SourceSnapshot } from './pod-update.ts';

/** A pod as delivered, and the source's object that it was last compared with. */
interface StoredPod {
  readonly pod: Pod;
  readonly from: Pod;
  readonly fullName: string;
}

/** The stored pods of one source by UID (R7). A merge returns the next one. */
export interface SourceMemory {
  readonly pods: Map<string, StoredPod>;
}

/** Result of a merge. */
export interface MergeResult {
  readonly memory: SourceMemory;
  /** In the order of emission (R4). */
  readonly updates: readonly PodUpdate[];
  /** Pods dropped because an earlier one in the snapshot has the same full name (R8). */
  readonly duplicates: readonly Pod[];
  /** The pods of the snapshot without duplicates, as delivered. */
  readonly accepted: readonly Pod[];
}

/** The fixed order of batches in one merge (R4); the empty ADD is between DELETE and RECONCILE. */
const beforeEmptyAdd: readonly PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE'];

/**
 * Computes the changes between a snapshot and the stored pods of its source: pure, so the same inputs return the same batches. Pods are
 * never modified; the batches share structure with the memory and the snapshot.
 *
 * A pod object that is identical to the last snapshot's is not compared again, since objects are read-only.
 *
 * Follows kubelet `podStorage.merge` (pkg/kubelet/config/config.go): R4 to R14.
 *
 * @param memory of this source; `undefined` before its first snapshot
 * @param now ms since the epoch, for the first-seen annotation
 */
export function mergeSnapshot(
  memory: SourceMemory | undefined,
  snapshot: SourceSnapshot,
  now: number,
): MergeResult {
  const { source, changes } = snapshot;
  if (memory && changes) return mergeChanges(memory, changes, source, now);
  const batches: Batches = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const existing = memory?.pods ?? new Map<string, StoredPod>();
  const next = new Map<string, StoredPod>();
  const names = new Set<string>();
  const duplicates: Pod[] = [];
  const latest = (uid: string): StoredPod | undefined => next.get(uid) ?? existing.get(uid);
  for (const incoming of snapshot.pods) {
    const uid = uidOf(incoming);
    const stored = existing.has(uid) ? latest(uid) : undefined;
    const fullName = stored?.from === incoming ? stored.fullName : fullNameOf(incoming);
    if (names.has(fullName)) duplicates.push(incoming);
    else next.set(uid, take({ incoming, fullName }, stored, { batches, source, now }));
    names.add(fullName);
  }
  for (const [uid, { pod }] of existing) if (!next.has(uid)) batches.REMOVE.push(pod);
  return {
    memory: { pods: next },
    updates: inOrder(batches, source, memory === undefined),
    duplicates,
    accepted: without(snapshot.pods, duplicates),
  };
}

/** Does the same for a source that reports differences, at the cost of the changes only. Consumes `memory`: the next one reuses its map. */
function mergeChanges(
  memory: SourceMemory,
  { set, gone }: SnapshotChanges,
  source: PodSource,
  now: number,
): MergeResult {
  const batches: Batches = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const { pods } = memory;
  for (const pod of gone) {
    const stored = pods.get(uidOf(pod));
    if (stored) batches.REMOVE.push(stored.pod);
    pods.delete(uidOf(pod));
  }
  for (const incoming of set) {
    const uid = uidOf(incoming);
    const fullName = fullNameOf(incoming);
    pods.set(uid, take({ incoming, fullName }, pods.get(uid), { batches, source, now }));
  }
  return { memory: { pods }, updates: inOrder(batches, source, false), duplicates: [], accepted: set };
}

type Batches = Record<PodOperation, Pod[]>;

/** Adds a pod to its batch if it changed, and returns what to store. */
function take(
  { incoming, fullName }: { readonly incoming: Pod; readonly fullName: string },
  stored: StoredPod | undefined,
  { batches, source, now }: { batches: Batches; source: PodSource; now: number },
): StoredPod {
  if (!stored) {
    const pod = introduce(incoming, source, formatFirstSeen(now));
    batches.ADD.push(pod);
    return { pod, from: incoming, fullName };
  }
  if (stored.from === incoming) return stored;
  const { op, pod } = mergeKnownPod(stored.pod, incoming);
  if (op) batches[op].push(pod);
  return { pod, from: incoming, fullName };
}

/** Returns a pod at first sight, annotated with its source and the time (R9). */
function introduce(incoming: Pod, source: PodSource, firstSeen: string): Pod {
  const annotations = {
    ...incoming.metadata?.annotations,
    [configSourceAnnotation]: source,
    [configSeenAnnotation]: firstSeen,
  };
  return { ...incoming, metadata: { ...incoming.metadata, annotations } };
}

function inOrder(
  batches: Readonly<Record<PodOperation, readonly Pod[]>>,
  source: PodSource,
  first: boolean,
): PodUpdate[] {
  const batch = (op: PodOperation): PodUpdate[] =>
    batches[op].length > 0 ? [{ op, source, pods: batches[op] }] : [];
  const updates = beforeEmptyAdd.flatMap(batch);
  // A source without pods must still be seen by the sync loop (R5).
  if (first && updates.length === 0) updates.push({ op: 'ADD', source, pods: [] });
  return [...updates, ...batch('RECONCILE')];
}

function without(pods: readonly Pod[], dropped: readonly Pod[]): readonly Pod[] {
  if (dropped.length === 0) return pods;
  const gone = new Set(dropped);
  return pods.filter((pod) => !gone.has(pod));
}

/** Formats a time as RFC 3339 in UTC with nine fractional digits, as the kubelet writes the first-seen annotation. */
export function formatFirstSeen(now: number): string {
  return `${new Date(now).toISOString().slice(0, -1)}000000Z`;
}
