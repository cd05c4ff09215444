import { isAvailable, isReady } from '../workload/pods.ts';
import {
  controllerReference,
  isDeleted,
  nameOf,
  namespaceOf,
  podOf,
  scaledValue,
  uidOf,
} from '../workload/objects.ts';
import { kinds } from '../../controller/kinds.ts';
import { revisionLabel } from '../workload/revisions.ts';
import type { Claim, Pod, PodTemplate, StatefulSet } from '../workload/types.ts';

const podIndexLabel = 'apps.kubernetes.io/pod-index';
const podNameLabel = 'statefulset.kubernetes.io/pod-name';

/** A revision of the template. */
export interface Revision {
  readonly name: string;
  readonly template: PodTemplate | undefined;
}

/** What a StatefulSet does next. */
export interface StatefulPlan {
  /** Ordinals to create, each with its revision. */
  readonly create: readonly { readonly ordinal: number; readonly revision: Revision }[];
  readonly remove: readonly Pod[];
}

/** Returns the ordinal of a pod of the set; -1: it is not one of them. */
export function ordinalOf(set: StatefulSet, pod: Pod): number {
  const name = nameOf(pod);
  const prefix = `${nameOf(set)}-`;
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(0|[1-9]\d*)$/.test(rest) ? Number(rest) : -1;
}

/** The first ordinal, and the one after the last. */
export const ordinalsOf = ({ spec }: StatefulSet): readonly [from: number, to: number] => {
  const from = spec?.ordinals?.start ?? 0;
  return [from, from + (spec?.replicas ?? 1)];
};

export const isParallel = ({ spec }: StatefulSet): boolean => spec?.podManagementPolicy === 'Parallel';
const revisionOf = ({ metadata }: Pod): string => metadata?.labels?.[revisionLabel] ?? '';
const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded';

/** What is known of a set when it is planned. */
interface Findings {
  readonly set: StatefulSet;
  readonly byOrdinal: ReadonlyMap<number, Pod>;
  readonly current: Revision;
  readonly update: Revision;
  readonly isHealthy: (pod: Pod) => boolean;
}

/**
 * Returns the pods to create and delete now. Ordered sets do one step at a time, and wait for each pod to be available, and for each deleted
 * one to be gone; so one whose pods do not become ready stays as it is until they are deleted by hand, as in Kubernetes.
 */
export function planStateful(
  set: StatefulSet,
  pods: readonly Pod[],
  { current, update, now }: { readonly current: Revision; readonly update: Revision; readonly now: number },
): StatefulPlan {
  const least = set.spec?.minReadySeconds ?? 0;
  const found: Findings = {
    set,
    byOrdinal: new Map(pods.map((pod) => [ordinalOf(set, pod), pod])),
    current,
    update,
    isHealthy: (pod) => isAvailable(pod, least, now) && !isDeleted(pod),
  };
  const replaced = replacements(found);
  if (!isParallel(set) && replaced.waits) return replaced;
  const surplus = removals(found);
  if (!isParallel(set) && surplus.waits) return { create: [], remove: surplus.remove };
  return { create: replaced.create, remove: [...replaced.remove, ...surplus.remove, ...outdated(found)] };
}

interface Step extends StatefulPlan {
  /** True when an ordered set goes no further now. */
  readonly waits: boolean;
}

/** Returns the pods that are missing, and those that have ended, which are deleted first. */
function replacements({ set, byOrdinal, current, update, isHealthy }: Findings): Step {
  const [from, to] = ordinalsOf(set);
  const create: { ordinal: number; revision: Revision }[] = [];
  const remove: Pod[] = [];
  for (let ordinal = from; ordinal < to; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (!pod) create.push({ ordinal, revision: ordinal < partitionOf(set) ? current : update });
    else if (hasEnded(pod) && !isDeleted(pod)) remove.push(pod);
    const waits = !pod || hasEnded(pod) || !isHealthy(pod);
    if (waits && !isParallel(set)) return { create, remove, waits };
  }
  return { create, remove, waits: false };
}

/** Returns the pods beyond the ordinals that are deleted now, the highest one first. */
function removals({ set, byOrdinal, isHealthy }: Findings): Step {
  const [from, to] = ordinalsOf(set);
  const surplus = [...byOrdinal]
    .filter(([ordinal]) => ordinal >= 0 && (ordinal < from || ordinal >= to))
    .sort(([one], [other]) => other - one)
    .map(([, pod]) => pod);
  if (isParallel(set)) return { create: [], remove: surplus.filter((pod) => !isDeleted(pod)), waits: false };
  const [highest] = surplus;
  if (!highest) return { create: [], remove: [], waits: false };
  // one that is not ready is deleted only where no lower one is not ready either
  const mayGo = isHealthy(highest) || surplus.findLast((pod) => !isHealthy(pod)) === highest;
  return { create: [], remove: mayGo && !isDeleted(highest) ? [highest] : [], waits: true };
}

/** Returns the first ordinal with the update revision. */
export function partitionOf(set: StatefulSet): number {
  if (set.spec?.updateStrategy?.type === 'OnDelete') return ordinalsOf(set)[0];
  return ordinalsOf(set)[0] + (set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
}

/** Returns the pods that a rolling update replaces now, the highest ordinal first; as many as may be unavailable. */
function outdated({ set, byOrdinal, update, isHealthy }: Findings): readonly Pod[] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  const [from, to] = ordinalsOf(set);
  const most = Math.max(1, scaledValue(rollingUpdate?.maxUnavailable ?? 1, to - from, 'down'));
  const all = Array.from({ length: to - from }, (_, at) => byOrdinal.get(from + at));
  const unavailable = all.filter((pod) => !pod || !isHealthy(pod)).length;
  return all
    .slice(Math.max(0, partitionOf(set) - from))
    .filter((pod) => pod !== undefined)
    .filter((pod) => !isDeleted(pod) && !hasEnded(pod) && revisionOf(pod) !== update.name)
    .toReversed()
    .slice(0, Math.max(0, most - unavailable));
}

/** Returns the claims of a pod, one for each template. */
export const claimsOf = (set: StatefulSet, ordinal: number): readonly Claim[] =>
  (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    ...template,
    metadata: {
      ...template.metadata,
      namespace: namespaceOf(set),
      name: `${nameOf(template)}-${nameOf(set)}-${ordinal}`,
      labels: { ...template.metadata?.labels, ...set.spec?.selector.matchLabels },
    },
  }));

/** Returns the owner of a claim by the retention policy, e.g. of a set whose deletion deletes its claims. */
export function claimOwner(
  set: StatefulSet,
  pod: Pod,
  isSurplus: boolean,
): NonNullable<NonNullable<Claim['metadata']>['ownerReferences']> | undefined {
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } =
    set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (isSurplus && whenScaled === 'Delete')
    return [{ apiVersion: 'v1', kind: 'Pod', name: nameOf(pod), uid: uidOf(pod) }];
  if (whenDeleted !== 'Delete') return undefined;
  const { controller: _c, blockOwnerDeletion: _b, ...owner } = controllerReference(set, kinds.StatefulSet);
  return [owner];
}

/** Returns the pod of an ordinal: with its name, its host name and its claims. */
export function statefulPod(set: StatefulSet, ordinal: number, { name: revision, template }: Revision): Pod {
  const pod = podOf(template, set, kinds.StatefulSet);
  const name = `${nameOf(set)}-${ordinal}`;
  const labels = {
    ...pod.metadata?.labels,
    [podNameLabel]: name,
    [podIndexLabel]: String(ordinal),
    [revisionLabel]: revision,
  };
  const volumes = claimsOf(set, ordinal).map((claim, at) => ({
    name: nameOf(set.spec?.volumeClaimTemplates?.[at] ?? {}),
    persistentVolumeClaim: { claimName: nameOf(claim) },
  }));
  const own = new Set(volumes.map((volume) => volume.name));
  const { spec } = pod;
  return {
    metadata: { ...pod.metadata, name, labels },
    ...(spec && {
      spec: {
        ...spec,
        hostname: name,
        ...(set.spec?.serviceName !== undefined && { subdomain: set.spec.serviceName }),
        volumes: [...(spec.volumes ?? []).filter((volume) => !own.has(volume.name)), ...volumes],
      },
    }),
  };
}

/** Returns the status of a set. */
export function statefulStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: {
    readonly current: Revision;
    readonly update: Revision;
    readonly collisions: number;
    readonly now: number;
  },
): NonNullable<StatefulSet['status']> {
  const { current, update, collisions, now } = revisions;
  const alive = pods.filter((pod) => !hasEnded(pod) && !isDeleted(pod));
  const of = (revision: Revision): number => alive.filter((pod) => revisionOf(pod) === revision.name).length;
  const replicas = pods.length;
  const ready = pods.filter((pod) => pod.status?.phase === 'Running' && isReady(pod));
  const isDone =
    set.spec?.updateStrategy?.type !== 'OnDelete' &&
    of(update) === (set.spec?.replicas ?? 1) &&
    of(update) === replicas &&
    ready.length === replicas;
  return {
    observedGeneration: set.metadata?.generation ?? 0,
    replicas,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isAvailable(pod, set.spec?.minReadySeconds ?? 0, now)).length,
    currentReplicas: isDone ? of(update) : of(current),
    updatedReplicas: of(update),
    currentRevision: isDone ? update.name : current.name,
    updateRevision: update.name,
    collisionCount: collisions,
  };
}
