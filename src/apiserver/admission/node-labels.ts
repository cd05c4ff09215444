import { ownMember } from '../../base/own.ts';
import { type JsonObject, metadataOf, objectAt } from '../../apimachinery/json.ts';
import { type Attributes, refusal } from './plugin.ts';

const own = new Set(
  (
    'kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os beta.kubernetes.io/instance-type node.kubernetes.io/instance-type ' +
    'failure-domain.beta.kubernetes.io/region failure-domain.beta.kubernetes.io/zone topology.kubernetes.io/region topology.kubernetes.io/zone ' +
    'beta.kubernetes.io/os beta.kubernetes.io/arch'
  ).split(' '),
);

/** Reports whether a node may set a label on itself: its own ones, and those outside Kubernetes' domains. */
function isAllowed(label: string): boolean {
  const domain = label.includes('/') ? label.slice(0, label.indexOf('/')) : '';
  const within = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (within('node-restriction.kubernetes.io')) return false;
  if (own.has(label) || within('kubelet.kubernetes.io') || within('node.kubernetes.io')) return true;
  return !within('kubernetes.io') && !within('k8s.io');
}

function changedLabels(now: JsonObject, before: JsonObject): string[] {
  const at = (labels: JsonObject, key: string): unknown =>
    Object.hasOwn(labels, key) ? ownMember(labels, key) : undefined;
  return [...new Set([...Object.keys(now), ...Object.keys(before)])]
    .filter((key) => at(now, key) !== at(before, key))
    .sort();
}

/** @param why start of the message @throws {StatusError} 403 if a node sets, changes or removes a label that it may not set */
export function checkLabels(attributes: Attributes, why: string): void {
  const labelsOf = (one: JsonObject | undefined): JsonObject => objectAt(metadataOf(one), 'labels');
  const changed = changedLabels(labelsOf(attributes.object), labelsOf(attributes.oldObject));
  const wrong = changed.filter((label) => !isAllowed(label));
  if (wrong.length > 0) throw refusal(attributes, `${why}: ${wrong.join(', ')}`);
}
