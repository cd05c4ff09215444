import { canonicalJson } from '../../apimachinery/json.ts';
import { byCreation, scaledValue } from '../workload/objects.ts';
import type { Deployment, PodTemplate, ReplicaSet } from '../workload/types.ts';

/** Label of a Deployment's ReplicaSets and their pods. */
export const hashLabel = 'pod-template-hash';
export const maxAnnotation = 'deployment.kubernetes.io/max-replicas';
export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';

/** A new size of a ReplicaSet. */
export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

export const replicasOf = ({ spec }: ReplicaSet): number => spec?.replicas ?? 0;
const availableOf = ({ status }: ReplicaSet): number => status?.availableReplicas ?? 0;
export const desiredReplicas = ({ spec }: Deployment): number => spec?.replicas ?? 1;
const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number): number =>
  sets.reduce((total, set) => total + of(set), 0);
export const active = (sets: readonly ReplicaSet[]): readonly ReplicaSet[] =>
  sets.filter((set) => replicasOf(set) > 0);

export const isRolling = ({ spec }: Deployment): boolean => spec?.strategy?.type !== 'Recreate';

/** How many pods may exist beyond the wanted ones, and how many may be unavailable; never both 0 (`ResolveFenceposts`). */
export function limitsOf(deployment: Deployment): { readonly surge: number; readonly unavailable: number } {
  const desired = desiredReplicas(deployment);
  if (!isRolling(deployment) || desired === 0) return { surge: 0, unavailable: 0 };
  const { maxSurge, maxUnavailable } = deployment.spec?.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, desired, 'up');
  const unavailable = scaledValue(maxUnavailable, desired, 'down');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, desired) };
}

/** Compares templates without the label of the hash. */
export function sameTemplate(one: PodTemplate | undefined, other: PodTemplate | undefined): boolean {
  const bare = (template: PodTemplate | undefined): string => {
    const { [hashLabel]: _hash, ...labels } = template?.metadata?.labels ?? {};
    return canonicalJson({
      ...template,
      metadata: { ...template?.metadata, labels, creationTimestamp: undefined },
    });
  };
  return bare(one) === bare(other);
}

/** Returns the ReplicaSet of the current template: of several the oldest. */
export const newSetOf = (deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined =>
  [...sets].sort(byCreation).find((set) => sameTemplate(set.spec?.template, deployment.spec?.template));

/** Returns the size of the new ReplicaSet that the strategy permits now. */
export function newSetSize(deployment: Deployment, sets: readonly ReplicaSet[], fresh: number): number {
  const desired = desiredReplicas(deployment);
  if (!isRolling(deployment) || fresh >= desired) return desired;
  const room = desired + limitsOf(deployment).surge - sum(sets, replicasOf);
  return room <= 0 ? fresh : fresh + Math.min(room, desired - fresh);
}

/** Returns how old ReplicaSets shrink in a rolling update: unhealthy pods first, then as far as enough pods stay available. */
export function shrinkOld(
  deployment: Deployment,
  fresh: ReplicaSet,
  olds: readonly ReplicaSet[],
): readonly Resize[] {
  const all = [...olds, fresh];
  if (sum(olds, replicasOf) === 0) return [];
  const least = desiredReplicas(deployment) - limitsOf(deployment).unavailable;
  const freshMissing = replicasOf(fresh) - availableOf(fresh);
  const most = sum(all, replicasOf) - least - freshMissing;
  if (most <= 0) return [];
  const sizes = new Map(olds.map((set) => [set, replicasOf(set)]));
  const take = (of: (set: ReplicaSet, size: number) => number, most: number): void => {
    let left = most;
    for (const set of active([...olds]).toSorted(byCreation)) {
      const size = sizes.get(set) ?? 0;
      const cut = Math.max(0, Math.min(left, of(set, size)));
      sizes.set(set, size - cut);
      left -= cut;
    }
  };
  take((set, size) => size - availableOf(set), most);
  const available = sum(all, availableOf);
  if (available > least) take((_set, size) => size, available - least);
  return olds
    .map((set) => ({ set, replicas: sizes.get(set) ?? 0 }))
    .filter(({ set, replicas }) => replicas !== replicasOf(set));
}

/** Returns the sizes when a Deployment is scaled outside or in the middle of a rollout: in proportion to the sizes there are. */
export function scaleAll(
  deployment: Deployment,
  fresh: ReplicaSet | undefined,
  olds: readonly ReplicaSet[],
): readonly Resize[] {
  const desired = desiredReplicas(deployment);
  const only = activeOrLatest(fresh, olds);
  if (only) return replicasOf(only) === desired ? [] : [{ set: only, replicas: desired }];
  if (fresh && isSaturated(deployment, fresh)) return active(olds).map((set) => ({ set, replicas: 0 }));
  if (!isRolling(deployment)) return [];
  const all = active(fresh ? [...olds, fresh] : olds);
  const allowed = desired > 0 ? desired + limitsOf(deployment).surge : 0;
  const toAdd = allowed - sum(all, replicasOf);
  const bySize = (one: ReplicaSet, other: ReplicaSet): number =>
    replicasOf(other) - replicasOf(one) || (toAdd > 0 ? byCreation(other, one) : byCreation(one, other));
  const sorted = [...all].sort(bySize);
  let added = 0;
  const sizes = sorted.map((set) => {
    const share = shareOf(deployment, set, { toAdd, added });
    added += share;
    return replicasOf(set) + share;
  });
  // what rounding leaves goes to the largest
  const [largest] = sizes;
  if (largest !== undefined && toAdd !== 0) sizes[0] = Math.max(0, largest + toAdd - added);
  return sorted.map((set, at) => ({ set, replicas: sizes[at] ?? 0 }));
}

function activeOrLatest(fresh: ReplicaSet | undefined, olds: readonly ReplicaSet[]): ReplicaSet | undefined {
  const all = active(fresh ? [...olds, fresh] : olds);
  if (all.length > 1) return undefined;
  return all[0] ?? fresh ?? [...olds].sort((one, other) => byCreation(other, one))[0];
}

/** True when the new ReplicaSet has all the pods, and they are available. */
const isSaturated = (deployment: Deployment, fresh: ReplicaSet): boolean =>
  replicasOf(fresh) === desiredReplicas(deployment) &&
  Number(fresh.metadata?.annotations?.[desiredAnnotation] ?? -1) === desiredReplicas(deployment) &&
  availableOf(fresh) === desiredReplicas(deployment);

function shareOf(
  deployment: Deployment,
  set: ReplicaSet,
  { toAdd, added }: { readonly toAdd: number; readonly added: number },
): number {
  const size = replicasOf(set);
  if (size === 0 || toAdd === 0 || toAdd === added) return 0;
  const left = toAdd - added;
  const desired = desiredReplicas(deployment);
  if (desired === 0) return Math.max(-size, left);
  const most = desired + limitsOf(deployment).surge;
  const before = maxBefore(deployment, set);
  const part = before === 0 ? 0 : Math.round((size * most) / before) - size;
  return toAdd > 0 ? Math.min(part, left) : Math.max(part, left);
}

/** Returns how many pods the Deployment could have when the ReplicaSet got its size. */
const maxBefore = (deployment: Deployment, set: ReplicaSet): number =>
  Number(set.metadata?.annotations?.[maxAnnotation] ?? 0) || (deployment.status?.replicas ?? 0);

/** Returns the old ReplicaSets beyond the history limit, the lowest revisions first; those with pods are kept. */
export function beyondHistory(
  deployment: Deployment,
  olds: readonly ReplicaSet[],
  revisionOf: (set: ReplicaSet) => number,
): readonly ReplicaSet[] {
  const alive = olds.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  const excess = alive.length - (deployment.spec?.revisionHistoryLimit ?? 10);
  if (excess <= 0) return [];
  return alive
    .toSorted((one, other) => revisionOf(one) - revisionOf(other))
    .slice(0, excess)
    .filter(
      (set) =>
        (set.status?.replicas ?? 0) === 0 &&
        replicasOf(set) === 0 &&
        (set.metadata?.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    );
}
