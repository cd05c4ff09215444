import { ownMember } from '../../base/own.ts';
import {
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  withSpec,
} from '../../apimachinery/json.ts';
import { lookupFault } from '../../apimachinery/path-segment.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { type AdmissionPlugin, type Attributes, isResource, refusal } from './plugin.ts';

const storage = 'node.k8s.io/runtimeclasses';

/** Sets the overhead, node selector and tolerations of its runtime class on a new pod, and rejects an overhead without such a class. */
export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' && isResource(kind, 'pods') && subresource === '',
  admit: (attributes) => attributes.object && withRuntimeClass(attributes.object, attributes),
  validate(attributes) {
    const { object: pod, context } = attributes;
    const spec = objectAt(pod, 'spec');
    if (Object.keys(objectAt(spec, 'overhead')).length === 0 && !context.empties?.has('spec.overhead'))
      return;
    const found = context.world.store.get(storage, stringAt(spec, 'runtimeClassName'));
    if (Object.keys(objectAt(objectAt(found?.object, 'overhead'), 'podFixed')).length > 0) return;
    const why = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';
    throw refusal(attributes, why);
  },
};

function noRuntimeClass(attributes: Attributes, name: string): Error {
  const why = lookupFault(name);
  return why === undefined
    ? refusal(attributes, `pod rejected: RuntimeClass "${name}" not found`)
    : new StatusError(500, '', why);
}

/** @throws {StatusError} 403, 500 */
function withRuntimeClass(pod: JsonObject, attributes: Attributes): JsonObject {
  const spec = objectAt(pod, 'spec');
  const name = stringAt(spec, 'runtimeClassName');
  const found = name ? attributes.context.world.store.get(storage, name)?.object : undefined;
  if (name && !found) throw noRuntimeClass(attributes, name);
  const overhead = objectAt(objectAt(found, 'overhead'), 'podFixed');
  const podOverhead = objectAt(spec, 'overhead');
  if (Object.keys(podOverhead).length > 0) {
    if (Object.keys(overhead).length > 0 && !sameJson(podOverhead, overhead))
      throw refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  const scheduling = objectAt(found, 'scheduling');
  const tolerations = objectsAt(spec, 'tolerations');
  const added = objectsAt(scheduling, 'tolerations').filter(
    (toleration) => !tolerations.some((other) => sameJson(other, toleration)),
  );
  return withSpec(pod, {
    ...(Object.keys(overhead).length > 0 && { overhead }),
    ...(scheduling['nodeSelector'] !== undefined && {
      nodeSelector: joinedSelector(attributes, pod, scheduling),
    }),
    ...(added.length > 0 && { tolerations: [...tolerations, ...added] }),
  });
}

/** Merges the node selectors of a pod and its runtime class. @throws {StatusError} 403 when they conflict */
function joinedSelector(attributes: Attributes, pod: JsonObject, scheduling: JsonObject): JsonObject {
  const own = objectAt(objectAt(pod, 'spec'), 'nodeSelector');
  const required = objectAt(scheduling, 'nodeSelector');
  for (const [key, value] of Object.entries(required))
    if (Object.hasOwn(own, key) && ownMember(own, key) !== value)
      throw refusal(
        attributes,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${textOf(value)}; pod.spec.nodeSelector[${key}] = ${textOf(ownMember(own, key))}`,
      );
  return { ...own, ...required };
}
