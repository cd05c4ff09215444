import { configMirrorAnnotation, configSeenAnnotation, configSourceAnnotation } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { deepEqual } from './deep-equal.ts';

/** Annotations that belong to this node, not to the pod's definition: never compared, and a remembered value wins (R10, R13). */
const localAnnotations: readonly string[] = [
  configSourceAnnotation,
  configMirrorAnnotation,
  configSeenAnnotation,
];

type Annotations = Readonly<Record<string, string>>;

/** What a known pod becomes, and as which operation it is announced; no operation when nothing changed. */
export interface MergedPod {
  readonly op?: 'UPDATE' | 'DELETE' | 'RECONCILE';
  readonly pod: Pod;
}

/**
 * Compares a remembered pod with the source's present object and takes over what changed (R10 to R13).
 * The identity (name, namespace, UID, creation), resourceVersion, owners and finalizers stay as at first sight.
 *
 * Follows kubelet `checkAndUpdatePod`.
 */
export function mergeKnownPod(known: Pod, incoming: Pod): MergedPod {
  if (!differSemantically(known, incoming)) {
    if (deepEqual(known.status ?? {}, incoming.status ?? {})) return { pod: known };
    return { op: 'RECONCILE', pod: { ...known, ...(incoming.status && { status: incoming.status }) } };
  }
  return {
    op: incoming.metadata?.deletionTimestamp ? 'DELETE' : 'UPDATE',
    pod: takeOver(known, incoming),
  };
}

/** R10: spec, labels, deletion fields and foreign annotations are the pod's meaning; nothing else is. */
function differSemantically(known: Pod, incoming: Pod): boolean {
  const [a, b] = [known.metadata, incoming.metadata];
  return !(
    deepEqual(a?.deletionTimestamp, b?.deletionTimestamp) &&
    deepEqual(a?.deletionGracePeriodSeconds, b?.deletionGracePeriodSeconds) &&
    deepEqual(a?.labels ?? {}, b?.labels ?? {}) &&
    sameForeignAnnotations(a?.annotations ?? {}, b?.annotations ?? {}) &&
    deepEqual(known.spec ?? {}, incoming.spec ?? {})
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
  const { spec: _spec, status: _status, metadata: identity, ...rest } = known;
  const {
    labels: _labels,
    deletionTimestamp: _at,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    ...kept
  } = identity ?? {};
  const now = incoming.metadata;
  return {
    ...rest,
    metadata: {
      ...kept,
      ...(now?.labels && { labels: now.labels }),
      ...(now?.deletionTimestamp !== undefined && { deletionTimestamp: now.deletionTimestamp }),
      ...(now?.deletionGracePeriodSeconds !== undefined && {
        deletionGracePeriodSeconds: now.deletionGracePeriodSeconds,
      }),
      ...(now?.generation !== undefined && { generation: now.generation }),
      annotations: mergeAnnotations(identity?.annotations ?? {}, now?.annotations ?? {}),
    },
    ...(incoming.spec && { spec: incoming.spec }),
    ...(incoming.status && { status: incoming.status }),
  };
}

/** R13: the source's annotations, but of the local ones those that are remembered. */
function mergeAnnotations(known: Annotations, incoming: Annotations): Annotations {
  const kept = localAnnotations.flatMap((key) => {
    const value = known[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...incoming, ...Object.fromEntries(kept) };
}
