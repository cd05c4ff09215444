import { configMirrorAnnotation, configSeenAnnotation, configSourceAnnotation } from '../kube/names.ts';
import type { ObjectMeta, Pod } from '../kube/types.ts';
import { deepEqual } from './deep-equal.ts';

/** Annotations that belong to this node, not to the pod's definition: never compared, and the stored value wins (R10, R13). */
const localAnnotations: readonly string[] = [
  configSourceAnnotation,
  configMirrorAnnotation,
  configSeenAnnotation,
];

/** Metadata that is compared besides annotations (R10), and copied (R13). */
const comparedMetadata: readonly (keyof ObjectMeta)[] = [
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
];
const takenMetadata: readonly (keyof ObjectMeta)[] = [...comparedMetadata, 'generation'];

type Annotations = Readonly<Record<string, string>>;

/** The merged pod and the operation to announce; no operation when nothing changed. */
export interface MergedPod {
  readonly op?: 'UPDATE' | 'DELETE' | 'RECONCILE';
  readonly pod: Pod;
}

const none: Readonly<Record<string, never>> = {};

/**
 * Compares a stored pod with the source's current object and copies what changed (R10 to R13). The identity (name, namespace, UID,
 * creation), resourceVersion, owners and finalizers stay as first observed.
 *
 * Follows kubelet `checkAndUpdatePod`.
 */
export function mergeKnownPod(stored: Pod, incoming: Pod): MergedPod {
  if (differSemantically(stored, incoming))
    return {
      op: incoming.metadata?.deletionTimestamp ? 'DELETE' : 'UPDATE',
      pod: takeOver(stored, incoming),
    };
  if (deepEqual(stored.status ?? none, incoming.status ?? none)) return { pod: stored };
  return { op: 'RECONCILE', pod: replaced(stored, incoming, ['status']) };
}

/** Reports a semantic difference: in spec, labels, deletion fields or foreign annotations, and nothing else (R10). */
function differSemantically(stored: Pod, incoming: Pod): boolean {
  const was: ObjectMeta = stored.metadata ?? none;
  const is: ObjectMeta = incoming.metadata ?? none;
  return (
    comparedMetadata.some((key) => !deepEqual(was[key] ?? none, is[key] ?? none)) ||
    !sameForeignAnnotations(was.annotations ?? none, is.annotations ?? none) ||
    !deepEqual(stored.spec ?? none, incoming.spec ?? none)
  );
}

function sameForeignAnnotations(stored: Annotations, incoming: Annotations): boolean {
  let foreign = 0;
  for (const key in stored) {
    if (localAnnotations.includes(key)) continue;
    if (stored[key] !== incoming[key]) return false;
    foreign++;
  }
  for (const key in incoming) if (!localAnnotations.includes(key)) foreign--;
  return foreign === 0;
}

function takeOver(stored: Pod, incoming: Pod): Pod {
  const was = stored.metadata ?? none;
  const is = incoming.metadata ?? none;
  const annotations = mergeAnnotations(was.annotations ?? none, is.annotations ?? none);
  return {
    ...replaced(stored, incoming, ['spec', 'status']),
    metadata: { ...replaced<ObjectMeta>(was, is, takenMetadata), annotations },
  };
}

/** Returns a copy of one object with some members replaced by the other's, absent ones included. */
function replaced<T extends object>(stored: T, incoming: T, keys: readonly (keyof T & string)[]): T {
  // Not by `delete`: V8 turns an object that lost a member into a hash table, four times as large and slow to read.
  const out: Partial<T> = {};
  for (const key in stored) if (!(keys as readonly string[]).includes(key)) out[key] = stored[key];
  keys.forEach((key) => {
    if (incoming[key] !== undefined && incoming[key] !== null) out[key] = incoming[key];
  });
  return out as T;
}

/** Returns the source's annotations, with the stored values of the local ones (R13). */
function mergeAnnotations(stored: Annotations, incoming: Annotations): Annotations {
  const merged: Record<string, string> = { ...incoming };
  localAnnotations.forEach((key) => {
    const value = stored[key];
    if (value !== undefined) merged[key] = value;
  });
  return merged;
}
