import { ownMember } from '../../base/own.ts';
import { isNodeSettableLabel } from '../../kube/node-labels.ts';
import { type JsonObject, metadataOf, objectAt } from '../../apimachinery/json.ts';
import { type Attributes, refusal } from './plugin.ts';

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
  const wrong = changed.filter((label) => !isNodeSettableLabel(label));
  if (wrong.length > 0) throw refusal(attributes, `${why}: ${wrong.join(', ')}`);
}
