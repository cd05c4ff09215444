import { ownMember } from '../../base/own.ts';
import { type JsonObject, nameOf, objectAt, stringAt, valueAt, withSpec } from '../../apimachinery/json.ts';
import { forbidden } from '../../apimachinery/status-error.ts';
import { type AdmissionPlugin, type Attributes, isResource, refusal } from './plugin.ts';

const group = 'scheduling.k8s.io';
const storage = 'scheduling.k8s.io/priorityclasses';

/** Sets the priority of a pod's class, or of the default class, on pods, and allows only one default class. */
export const priority: AdmissionPlugin = {
  name: 'Priority',
  handles: (operation, kind, subresource) =>
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE') &&
    (isResource(kind, 'pods') || isResource(kind, 'priorityclasses', group)),
  admit(attributes) {
    const { object, oldObject, kind } = attributes;
    if (!object || !isResource(kind, 'pods')) return undefined;
    return oldObject ? keepPriority(object, oldObject) : withPriority(object, attributes);
  },
  validate(attributes) {
    if (isResource(attributes.kind, 'priorityclasses', group)) onlyDefault(attributes);
  },
};

/** Allows only one default class. @throws {StatusError} 403 */
function onlyDefault({ object: one, context }: Attributes): void {
  if (one?.['globalDefault'] !== true) return;
  const name = nameOf(one);
  for (const { object } of context.world.store.list(storage)) {
    const other = nameOf(object);
    if (object['globalDefault'] === true && other !== name)
      throw forbidden(
        { group, kind: 'priorityclasses', name },
        `PriorityClass ${other} is already marked as default. Only one default can exist`,
      );
  }
}

/** Returns a pod with the priority of its class, of the default class, or 0. */
function withPriority(pod: JsonObject, attributes: Attributes): JsonObject {
  const spec = objectAt(pod, 'spec');
  const classes = [...attributes.context.world.store.list('scheduling.k8s.io/priorityclasses')].map(
    (entry) => entry.object,
  );
  const className = stringAt(spec, 'priorityClassName');
  const found = className
    ? classes.find((one) => valueAt(one, 'metadata', 'name') === className)
    : classes
        .filter((one) => one['globalDefault'] === true)
        .sort((a, b) => Number(a['value']) - Number(b['value']))[0];
  if (className && !found) throw refusal(attributes, `no PriorityClass with name ${className} was found`);
  const priority = Number(found?.['value'] ?? 0);
  const policy = stringAt(found, 'preemptionPolicy') || 'PreemptLowerPriority';
  const named = found ? { priorityClassName: nameOf(found) } : {};
  if (typeof spec['priority'] === 'number' && spec['priority'] !== priority)
    throw refusal(
      attributes,
      `the integer value of priority (${spec['priority']}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  if (typeof spec['preemptionPolicy'] === 'string' && spec['preemptionPolicy'] !== policy)
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${spec['preemptionPolicy']}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  return withSpec(pod, { ...named, priority, preemptionPolicy: policy });
}

/** Keeps the stored priority in an update without one. */
function keepPriority(pod: JsonObject, old: JsonObject): JsonObject {
  const [spec, before] = [objectAt(pod, 'spec'), objectAt(old, 'spec')];
  const lost = ['priority', 'preemptionPolicy'].filter(
    (key) => (ownMember(spec, key) ?? ownMember(before, key)) !== ownMember(spec, key),
  );
  return lost.length === 0
    ? pod
    : withSpec(pod, Object.fromEntries(lost.map((key) => [key, ownMember(before, key)])));
}
