import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  zeroQuantity,
} from '../../kube/resources/quantity.ts';
import {
  type Amounts,
  computeQosClass,
  hasPodLevelResources,
  podLimits,
  podRequests,
} from '../../kube/resources/resources.ts';
import type { Pod } from '../../kube/types.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { type AdmissionPlugin, type Attributes } from './plugin.ts';
import { forbidden } from '../../apimachinery/status-error.ts';
import type { Store } from '../storage/store.ts';
import { isHugePageResource } from '../../kube/resources/resource-names.ts';

const one = quantityOf(1);
const qualified = ({ resource, group }: Kind): string => (group ? `${resource}.${group}` : resource);

/** Kinds that quotas also count by their bare name. */
const counted = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);
const terminal = new Set<unknown>(['Succeeded', 'Failed']);
const sized = ['cpu', 'memory', 'ephemeral-storage'];

/** Returns requests and limits under the names that quotas use. */
function sizes(requests: Amounts, limits: Amounts): Amounts {
  const out: Record<string, Quantity> = {};
  for (const [name, amount] of Object.entries(requests)) {
    const huge = isHugePageResource(name);
    if (sized.includes(name) || huge) setOwn(out, name, amount);
    if (sized.includes(name) || huge || name.includes('/')) setOwn(out, `requests.${name}`, amount);
  }
  for (const [name, amount] of Object.entries(limits))
    if (sized.includes(name)) setOwn(out, `limits.${name}`, amount);
  return out;
}

function podUsage(pod: JsonObject): Amounts {
  if (terminal.has(valueAt(pod, 'status', 'phase'))) return {};
  return { pods: one, ...sizes(podRequests(pod), podLimits(pod)) };
}

function serviceUsage(service: JsonObject): Amounts {
  const spec = objectAt(service, 'spec');
  const ports = objectsAt(spec, 'ports');
  const balanced = spec['type'] === 'LoadBalancer';
  const byNodes = balanced ? ports.filter((port) => port['nodePort'] !== undefined) : ports;
  return {
    ...(balanced && { 'services.loadbalancers': one }),
    ...((balanced || spec['type'] === 'NodePort') && { 'services.nodeports': quantityOf(byNodes.length) }),
  };
}

function claimUsage(claim: JsonObject): Amounts {
  const spec = objectAt(claim, 'spec');
  const size = valueAt(spec, 'resources', 'requests', 'storage');
  const prefix = `${stringAt(spec, 'storageClassName')}.storageclass.storage.k8s.io/`;
  const classed = stringAt(spec, 'storageClassName') !== '';
  const storage = typeof size === 'string' ? parseQuantity(size) : undefined;
  return {
    ...(classed && { [`${prefix}persistentvolumeclaims`]: one }),
    ...(storage && { 'requests.storage': storage }),
    ...(storage && classed && { [`${prefix}requests.storage`]: storage }),
  };
}

const special: Readonly<Record<string, (object: JsonObject) => Amounts>> = tableOf({
  pods: podUsage,
  services: serviceUsage,
  persistentvolumeclaims: claimUsage,
});

/** Returns the quota usage of an object. Follows Kubernetes' evaluators (pkg/quota/v1, v1.36). */
export function usageOf(kind: Kind, object: JsonObject): Amounts {
  const name = qualified(kind);
  return {
    [`count/${name}`]: one,
    ...(counted.has(name) && { [name]: one }),
    ...special[name]?.(object),
  };
}

const isBestEffort = (pod: JsonObject): boolean =>
  computeQosClass((pod as Pod).spec ?? { containers: [] }) === 'BestEffort';
const isTerminating = (pod: JsonObject): boolean =>
  valueAt(pod, 'spec', 'activeDeadlineSeconds') !== undefined;

const inScope: Readonly<Record<string, (pod: JsonObject, selector: JsonObject) => boolean>> = tableOf({
  Terminating: isTerminating,
  NotTerminating: (pod) => !isTerminating(pod),
  BestEffort: isBestEffort,
  NotBestEffort: (pod) => !isBestEffort(pod),
  PriorityClass: (pod, selector) => {
    const name = stringAt(objectAt(pod, 'spec'), 'priorityClassName');
    const within = listAt(selector, 'values').includes(name);
    const rules: Readonly<Record<string, boolean>> = {
      In: within,
      NotIn: !within,
      Exists: name !== '',
      DoesNotExist: name === '',
    };
    return ownMember(rules, stringAt(selector, 'operator') || 'Exists') ?? false;
  },
});

/** Reports whether a quota applies to an object: scopes apply to pods. */
export function isCovered(quota: JsonObject, kind: Kind, object: JsonObject): boolean {
  const spec = objectAt(quota, 'spec');
  const scopes = [
    ...listAt(spec, 'scopes').map((scopeName): JsonObject => ({ scopeName, operator: 'Exists' })),
    ...objectsAt(objectAt(spec, 'scopeSelector'), 'matchExpressions'),
  ];
  if (scopes.length === 0) return true;
  return (
    qualified(kind) === 'pods' &&
    scopes.every((scope) => inScope[stringAt(scope, 'scopeName')]?.(object, scope) ?? false)
  );
}

const demanded = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']);

/** Returns what every container must specify under a quota on processors and memory, but does not. */
function missingResources(pod: JsonObject, names: readonly string[]): string | undefined {
  if (hasPodLevelResources(pod)) return undefined;
  const spec = objectAt(pod, 'spec');
  const containers = ['containers', 'initContainers'].flatMap((key) => objectsAt(spec, key));
  const missing = names
    .filter((name) => demanded.has(name))
    .sort()
    .flatMap((name) => {
      const without = containers.filter((container) => !says(container, name));
      const who = without.map((container) => stringAt(container, 'name')).sort();
      return who.length > 0 ? [`${name} for: ${[...new Set(who)].join(',')}`] : [];
    });
  return missing.length > 0 ? `must specify ${missing.join('; ')}` : undefined;
}

function says(container: JsonObject, name: string): boolean {
  const [side, resource] = name.includes('.') ? name.split('.') : ['requests', name];
  return valueAt(container, 'resources', side ?? '', resource ?? '') !== undefined;
}

const shown = (amounts: Readonly<Record<string, string>>, names: readonly string[]): string =>
  [...names]
    .sort()
    .map((name) => `${name}=${ownMember(amounts, name) ?? '0'}`)
    .join(',');

const texts = (holder: JsonObject, key: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(objectAt(holder, key)).map(([name, amount]) => [name, textOf(amount)]));

/**
 * Returns a quota with an object's usage added; the same quota if it uses nothing of it. @throws {StatusError} 403 when the quota is
 * exceeded
 */
function charged(quota: JsonObject, kind: Kind, object: JsonObject): JsonObject {
  const status = objectAt(quota, 'status');
  const [hard, used] = [texts(status, 'hard'), texts(status, 'used')];
  const usage = usageOf(kind, object);
  const names = Object.keys(hard).filter((name) => Object.hasOwn(usage, name) || qualified(kind) === 'pods');
  const own = names.filter((name) => Object.hasOwn(usage, name));
  const name = nameOf(quota);
  const metadata = objectAt(object, 'metadata');
  const refuse = (why: string): Error =>
    forbidden(
      {
        kind: kind.resource,
        name: stringAt(metadata, 'name'),
        ...(kind.group && { group: kind.group }),
      },
      why,
    );
  const why = qualified(kind) === 'pods' ? missingResources(object, names) : undefined;
  if (why !== undefined) throw refuse(`failed quota: ${name}: ${why}`);
  const unknown = own.filter((one) => !Object.hasOwn(used, one));
  if (unknown.length > 0)
    throw refuse(`status unknown for quota: ${name}, resources: ${[...own].sort().join(',')}`);
  const nonZero = own.filter((one) => !isZeroQuantity(ownMember(usage, one) ?? zeroQuantity));
  if (nonZero.length === 0) return quota;
  const total = (one: string): Quantity =>
    addQuantities(parseQuantity(ownMember(used, one) ?? '0'), ownMember(usage, one) ?? zeroQuantity);
  const beyond = nonZero.filter(
    (one) => compareQuantities(total(one), parseQuantity(ownMember(hard, one) ?? '0')) > 0,
  );
  if (beyond.length > 0) {
    const amounts = Object.fromEntries(
      nonZero.map((one) => [one, formatQuantity(ownMember(usage, one) ?? zeroQuantity)]),
    );
    throw refuse(
      `exceeded quota: ${name}, requested: ${shown(amounts, beyond)}, used: ${shown(used, beyond)}, limited: ${shown(hard, beyond)}`,
    );
  }
  const next = Object.fromEntries(nonZero.map((one) => [one, formatQuantity(total(one))]));
  return { ...quota, status: { ...status, used: { ...used, ...next } } };
}

/** Returns the quotas of the object's namespace with its usage added. @throws {StatusError} 403 when one is exceeded */
function charges({ kind, namespace, context, object = {} }: Attributes): readonly JsonObject[] {
  const { store } = context.world;
  if (namespace === '' || store.count('resourcequotas') === 0) return [];
  return [...store.list('resourcequotas', `${namespace}/`)]
    .filter((entry) => isCovered(entry.object, kind, object))
    .flatMap((entry) => {
      const next = charged(entry.object, kind, object);
      return next === entry.object ? [] : [next];
    });
}

/**
 * Charges new objects to the quotas of their namespace, and rejects those that exceed one.
 *
 * Follows Kubernetes' admission plug-in (v1.36).
 */
export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',
  handles: (operation, kind, subresource) => operation === 'CREATE' && kind.namespaced && subresource === '',
  validate(attributes) {
    if (charges(attributes).length === 0) return;
    const { store } = attributes.context.world;
    // computed again when storing: other writes may have happened during asynchronous plug-ins
    attributes.onCommit(() => {
      for (const quota of charges(attributes)) store.put('resourcequotas', quota);
    });
  },
};

/** Returns the hard limits of a quota and its current usage. */
export function quotaStatus(store: Store, kinds: readonly Kind[], quota: JsonObject): JsonObject {
  const namespace = namespaceOf(quota);
  const hard = texts(objectAt(quota, 'spec'), 'hard');
  const used = new Map(Object.keys(hard).map((name) => [name, zeroQuantity]));
  for (const kind of kinds.filter((one) => one.group !== 'events.k8s.io'))
    for (const { object } of store.list(kind.storage, `${namespace}/`)) {
      if (!isCovered(quota, kind, object)) continue;
      for (const [name, amount] of Object.entries(usageOf(kind, object))) {
        const sum = used.get(name);
        if (sum) used.set(name, addQuantities(sum, amount));
      }
    }
  return { hard, used: Object.fromEntries([...used].map(([name, sum]) => [name, formatQuantity(sum)])) };
}
