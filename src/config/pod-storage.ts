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

/** A pod as handed out, and the object of the source that it was last compared with. */
interface StoredPod {
  readonly pod: Pod;
  readonly from: Pod;
  readonly fullName: string;
}

/** What is remembered of one source: its pods by UID (R7). A merge makes the next one. */
export interface SourceMemory {
  readonly pods: Map<string, StoredPod>;
}

/** What a merge found. */
export interface MergeResult {
  readonly memory: SourceMemory;
  /** In the order of emission (R4). */
  readonly updates: readonly PodUpdate[];
  /** Pods dropped because an earlier one of the snapshot has their full name (R8). */
  readonly duplicates: readonly Pod[];
  /** The pods of the snapshot without the duplicates, as they were delivered. */
  readonly accepted: readonly Pod[];
}

/** The fixed order of batches in one merge (R4); the empty ADD stands between DELETE and RECONCILE. */
const beforeEmptyAdd: readonly PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE'];

/**
 * Turns a snapshot into the changes against what was remembered of its source: pure, so the same inputs give the same batches.
 * Pods are never written to; the batches share structure with the memory and with the snapshot.
 *
 * A pod object that is the very one of the last snapshot is not compared again: objects are read-only, and comparing an object
 * with what was taken from it finds nothing.
 *
 * Follows kubelet `podStorage.merge` (pkg/kubelet/config/config.go): R4 to R14.
 *
 * @param memory of this source; `undefined` before its first snapshot
 * @param now ms since epoch, for the first-seen annotation
 */
export function mergeSnapshot(
  memory: SourceMemory | undefined,
  snapshot: SourceSnapshot,
  now: number,
): MergeResult {
  const { source, changes } = snapshot;
  if (memory && changes) return mergeChanges(memory, changes, source, now);
  const batches: Batches = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  const known = memory?.pods ?? new Map<string, StoredPod>();
  const next = new Map<string, StoredPod>();
  const names = new Set<string>();
  const duplicates: Pod[] = [];
  const latest = (uid: string): StoredPod | undefined => next.get(uid) ?? known.get(uid);
  for (const incoming of snapshot.pods) {
    const uid = uidOf(incoming);
    const stored = known.has(uid) ? latest(uid) : undefined;
    const fullName = stored?.from === incoming ? stored.fullName : fullNameOf(incoming);
    if (names.has(fullName)) duplicates.push(incoming);
    else next.set(uid, take({ incoming, fullName }, stored, { batches, source, now }));
    names.add(fullName);
  }
  for (const [uid, { pod }] of known) if (!next.has(uid)) batches.REMOVE.push(pod);
  return {
    memory: { pods: next },
    updates: inOrder(batches, source, memory === undefined),
    duplicates,
    accepted: without(snapshot.pods, duplicates),
  };
}

/**
 * The same for a source that says what differs: costs what changed, not what there is. The memory that is given is used up: the next
 * one is made of it.
 */
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

/** Puts a pod in its batch, if it changed, and gives what is to be remembered. */
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

/** A pod as it stands after first sight: marked with its source and the time (R9). */
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
  // R5: a source without pods must still be seen by the sync loop
  if (first && updates.length === 0) updates.push({ op: 'ADD', source, pods: [] });
  return [...updates, ...batch('RECONCILE')];
}

function without(pods: readonly Pod[], dropped: readonly Pod[]): readonly Pod[] {
  if (dropped.length === 0) return pods;
  const gone = new Set(dropped);
  return pods.filter((pod) => !gone.has(pod));
}

/** RFC 3339 in UTC with nine fractional digits, as the kubelet writes the first-seen annotation. */
export function formatFirstSeen(now: number): string {
  return `${new Date(now).toISOString().slice(0, -1)}000000Z`;
}
