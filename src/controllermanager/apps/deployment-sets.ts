import { sameJson } from '../../apimachinery/json.ts';
import { kinds } from '../../controller/kinds.ts';
import { controllerReference, nameOf, namespaceOf } from '../workload/objects.ts';
import { templateHash } from '../workload/template-hash.ts';
import type { Deployment, ReplicaSet } from '../workload/types.ts';
import {
  desiredAnnotation,
  hashLabel,
  limitsOf,
  maxAnnotation,
  desiredReplicas,
} from './deployment-rollout.ts';

export const revisionAnnotation = 'deployment.kubernetes.io/revision';
const historyAnnotation = 'deployment.kubernetes.io/revision-history';
/** Annotations that a ReplicaSet does not take over from its Deployment. */
const ownAnnotations: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  'deprecated.deployment.rollback.to',
]);
/** The longest list of earlier revisions, characters. */
const longestHistory = 2000;

export const revisionOf = ({ metadata }: ReplicaSet | Deployment): number => {
  const revision = Number(metadata?.annotations?.[revisionAnnotation] ?? 0);
  return Number.isSafeInteger(revision) ? revision : 0;
};

/** Returns the annotations by which a ReplicaSet remembers how large its Deployment is. */
export const sizeAnnotations = (deployment: Deployment): Record<string, string> => ({
  [desiredAnnotation]: String(desiredReplicas(deployment)),
  [maxAnnotation]: String(desiredReplicas(deployment) + limitsOf(deployment).surge),
});

/** Returns the annotations of the new ReplicaSet: those of its Deployment, its revision, and earlier ones if it comes back. */
export function newSetAnnotations(
  deployment: Deployment,
  set: ReplicaSet | undefined,
  revision: number,
): Record<string, string> {
  const before = set?.metadata?.annotations ?? {};
  const copied = Object.entries(deployment.metadata?.annotations ?? {}).filter(
    ([key]) => !ownAnnotations.has(key),
  );
  const annotations = { ...before, ...Object.fromEntries(copied) };
  if (!set) Object.assign(annotations, sizeAnnotations(deployment));
  if (set && revisionOf(set) >= revision) return annotations;
  const old = before[revisionAnnotation];
  annotations[revisionAnnotation] = String(revision);
  if (old !== undefined) annotations[historyAnnotation] = historyWith(before[historyAnnotation], old);
  return annotations;
}

function historyWith(history: string | undefined, revision: string): string {
  const all = history === undefined || history === '' ? [] : history.split(',');
  all.push(revision);
  while (all.join(',').length > longestHistory) all.shift();
  return all.join(',');
}

/** Returns the new ReplicaSet of a Deployment, to be created. */
export function newSet(deployment: Deployment, replicas: number, revision: number): ReplicaSet {
  const { template, minReadySeconds, selector } = deployment.spec ?? {};
  const hash = templateHash(template, deployment.status?.collisionCount);
  const labels = { ...template?.metadata?.labels, [hashLabel]: hash };
  return {
    metadata: {
      namespace: namespaceOf(deployment),
      name: `${nameOf(deployment)}-${hash}`,
      labels,
      annotations: newSetAnnotations(deployment, undefined, revision),
      ownerReferences: [controllerReference(deployment, kinds.Deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds !== undefined && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template?.metadata, labels } },
    },
  };
}

/** Returns the new ReplicaSet as its Deployment now wants it; undefined: it is so already. */
export function refreshed(deployment: Deployment, set: ReplicaSet, revision: number): ReplicaSet | undefined {
  const annotations = newSetAnnotations(deployment, set, revision);
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  const same =
    sameJson(annotations, set.metadata?.annotations ?? {}) &&
    minReadySeconds === (set.spec?.minReadySeconds ?? 0);
  if (same || !set.spec) return undefined;
  return { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, minReadySeconds } };
}
