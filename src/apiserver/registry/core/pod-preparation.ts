import { ownMember } from '../../../base/own.ts';
import { appArmorOfAnnotation, appArmorPrefix } from '../../../kube/validation/profile-annotations.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  valueAt,
  withSpec,
} from '../../../apimachinery/json.ts';

const containerLists = ['initContainers', 'containers', 'ephemeralContainers'];

/**
 * Copies AppArmor profiles in annotations to fields that are not set. Follows Kubernetes `applyAppArmorVersionSkew`.
 *
 * @param warnings receives deprecation warnings
 */
export function withAppArmorFields(pod: JsonObject, warnings: string[]): JsonObject {
  const annotations = objectAt(objectAt(pod, 'metadata'), 'annotations');
  const ofPod = valueAt(pod, 'spec', 'securityContext', 'appArmorProfile');
  const named = Object.keys(annotations).some((key) => key.startsWith(appArmorPrefix));
  if (!named || valueAt(pod, 'spec', 'os', 'name') === 'windows') return pod;
  const profiled = (container: JsonObject): JsonObject => {
    const key = `${appArmorPrefix}${stringAt(container, 'name')}`;
    const annotation = ownMember(annotations, key);
    const context = objectAt(container, 'securityContext');
    if (typeof annotation !== 'string' || context['appArmorProfile'] !== undefined) return container;
    const profile = appArmorOfAnnotation(annotation);
    if (profile && sameJson(profile, ofPod)) return container;
    warnings.push(
      `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    );
    return profile ? { ...container, securityContext: { ...context, appArmorProfile: profile } } : container;
  };
  const lists = containerLists.filter((key) => objectsAt(objectAt(pod, 'spec'), key).length > 0);
  return withSpec(
    pod,
    Object.fromEntries(lists.map((key) => [key, objectsAt(objectAt(pod, 'spec'), key).map(profiled)])),
  );
}

/** Returns a selector with the pod's own values of the labels in a term's keys. */
function withKeys(holder: JsonObject, labels: JsonObject): JsonObject {
  const selector = holder['labelSelector'];
  if (selector === undefined) return holder;
  const own = (keys: readonly unknown[], operator: string): JsonObject[] =>
    keys
      .filter((key) => Object.hasOwn(labels, String(key)))
      .map((key) => ({ key, operator, values: [ownMember(labels, String(key))] }));
  const added = [
    ...own(listAt(holder, 'matchLabelKeys'), 'In'),
    ...own(listAt(holder, 'mismatchLabelKeys'), 'NotIn'),
  ];
  if (added.length === 0) return holder;
  const labelSelector = objectAt(holder, 'labelSelector');
  return {
    ...holder,
    labelSelector: {
      ...labelSelector,
      matchExpressions: [...objectsAt(labelSelector, 'matchExpressions'), ...added],
    },
  };
}

const [required, preferred] = [
  'requiredDuringSchedulingIgnoredDuringExecution',
  'preferredDuringSchedulingIgnoredDuringExecution',
];

function affinityWithKeys(affinity: JsonObject, labels: JsonObject): JsonObject {
  const [must, may] = [objectsAt(affinity, required), objectsAt(affinity, preferred)];
  return {
    ...affinity,
    ...(must.length > 0 && { [required]: must.map((term) => withKeys(term, labels)) }),
    ...(may.length > 0 && {
      [preferred]: may.map((term) => ({
        ...term,
        podAffinityTerm: withKeys(objectAt(term, 'podAffinityTerm'), labels),
      })),
    }),
  };
}

/**
 * Replaces `matchLabelKeys` and `mismatchLabelKeys` by the pod's own labels. Follows Kubernetes `mutatePodAffinity`,
 * `mutateTopologySpreadConstraints`.
 */
export function withLabelKeys(pod: JsonObject): JsonObject {
  const spec = objectAt(pod, 'spec');
  const labels = objectAt(objectAt(pod, 'metadata'), 'labels');
  const spread = objectsAt(spec, 'topologySpreadConstraints');
  const affinity = objectAt(spec, 'affinity');
  const kinds = ['podAffinity', 'podAntiAffinity'].filter((kind) => ownMember(affinity, kind) !== undefined);
  if (spread.length === 0 && kinds.length === 0) return pod;
  const changed = kinds.map((kind) => [kind, affinityWithKeys(objectAt(affinity, kind), labels)] as const);
  return withSpec(pod, {
    ...(spread.length > 0 && { topologySpreadConstraints: spread.map((one) => withKeys(one, labels)) }),
    ...(kinds.length > 0 && { affinity: { ...affinity, ...Object.fromEntries(changed) } }),
  });
}

/** Keeps the observed generations of a pod's status that a writer leaves out. Follows `preserveOldObservedGeneration`. */
export function withObservedGeneration(status: JsonObject, old: JsonObject): JsonObject {
  const left = objectsAt(old, 'conditions').map((condition) => ({ ...condition }));
  const conditions = objectsAt(status, 'conditions').map((condition) => {
    const at = left.findIndex((one) => one['type'] === condition['type']);
    const [before] = at < 0 ? [] : left.splice(at, 1);
    return keepGeneration(condition, before);
  });
  return keepGeneration({ ...status, ...(conditions.length > 0 && { conditions }) }, old);
}

const keepGeneration = (now: JsonObject, before: JsonObject | undefined): JsonObject => {
  const observed = before?.['observedGeneration'];
  return (now['observedGeneration'] ?? 0) === 0 && observed !== undefined
    ? { ...now, observedGeneration: observed }
    : now;
};
