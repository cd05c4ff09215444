import { configMirrorAnnotation, configSeenAnnotation, configSourceAnnotation } from '../kube/names.ts';
import type { ObjectMeta, Pod } from '../kube/types.ts';
import { deepEqual } from './deep-equal.ts';

/** Annotations that belong to this node, not to the pod's definition: never compared, and a remembered value wins (R10, R13). */
const localAnnotations: readonly string[] = [
  configSourceAnnotation,
  configMirrorAnnotation,
  configSeenAnnotation,
];

/** What of the metadata is compared besides annotations (R10), and is taken over (R13). */
const comparedMetadata: readonly (keyof ObjectMeta)[] = [
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
];
const takenMetadata: readonly (keyof ObjectMeta)[] = [...comparedMetadata, 'generation'];

type Annotations = Readonly<Record<string, string>>;

/** What a known pod becomes, and as which operation it is announced; no operation when nothing changed. */
export interface MergedPod {
  readonly op?: 'UPDATE' | 'DELETE' | 'RECONCILE';
  readonly pod: Pod;
}

const none: Readonly<Record<string, never>> = {};

/**
 * Compares a remembered pod with the source's present object and takes over what changed (R10 to R13).
 * The identity (name, namespace, UID, creation), resourceVersion, owners and finalizers stay as at first sight.
 *
 * Follows kubelet `checkAndUpdatePod`.
 */
export function mergeKnownPod(known: Pod, incoming: Pod): MergedPod {
  if (differSemantically(known, incoming))
    return { op: incoming.metadata?.deletionTimestamp ? 'DELETE' : 'UPDATE', pod: takeOver(known, incoming) };
  if (deepEqual(known.status ?? none, incoming.status ?? none)) return { pod: known };
  return { op: 'RECONCILE', pod: replaced(known, incoming, ['status']) };
}

/** R10: spec, labels, deletion fields and foreign annotations are the pod's meaning; nothing else is. */
function differSemantically(known: Pod, incoming: Pod): boolean {
  const was: ObjectMeta = known.metadata ?? none;
  const is: ObjectMeta = incoming.metadata ?? none;
  return (
    comparedMetadata.some((key) => !deepEqual(was[key] ?? none, is[key] ?? none)) ||
    !sameForeignAnnotations(was.annotations ?? none, is.annotations ?? none) ||
    !deepEqual(known.spec ?? none, incoming.spec ?? none)
  );
}

function sameForeignAnnotations(known: Annotations, incoming: Annotations): boolean {
  let foreign = 0;
  for (const key in known) {
    if (localAnnotations.includes(key)) continue;
    if (known[key] !== incoming[key]) return false;
    foreign++;
  }
  for (const key in incoming) if (!localAnnotations.includes(key)) foreign--;
  return foreign === 0;
}

function takeOver(known: Pod, incoming: Pod): Pod {
  const was = known.metadata ?? none;
  const is = incoming.metadata ?? none;
  const annotations = mergeAnnotations(was.annotations ?? none, is.annotations ?? none);
  return {
    ...replaced(known, incoming, ['spec', 'status']),
    metadata: { ...replaced<ObjectMeta>(was, is, takenMetadata), annotations },
  };
}

/** A copy of one object with some members as the other has them, absent ones included. */
function replaced<T extends object>(known: T, incoming: T, keys: readonly (keyof T & string)[]): T {
  // never by `delete`: V8 keeps an object that lost a member as a hash table, of four times the size and slow to read
  const out: Partial<T> = {};
  for (const key in known) if (!(keys as readonly string[]).includes(key)) out[key] = known[key];
  keys.forEach((key) => {
    if (incoming[key] !== undefined && incoming[key] !== null) out[key] = incoming[key];
  });
  return out as T;
}

/** R13: the source's annotations, but of the local ones those that are remembered. */
function mergeAnnotations(known: Annotations, incoming: Annotations): Annotations {
  const merged: Record<string, string> = { ...incoming };
  localAnnotations.forEach((key) => {
    const value = known[key];
    if (value !== undefined) merged[key] = value;
  });
  return merged;
}
