import { ownMember } from '../../base/own.ts';
import { podLimits, podRequests, resourceListOf, type ResourceList } from '../../kube/resources/resources.ts';
import { compareQuantities, milliValueOf, parseQuantity } from '../../kube/resources/quantity.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { type AdmissionPlugin, isResource } from './plugin.ts';
import { forbidden } from '../../apimachinery/status-error.ts';
import type { WriteContext } from '../request/write-context.ts';

const annotation = 'kubernetes.io/limit-ranger';
const sidesOf = (holder: JsonObject): Sides => {
  const resources = objectAt(holder, 'resources');
  return { requests: listOf(resources, 'requests'), limits: listOf(resources, 'limits') };
};
const listOf = (holder: JsonObject, key: string): ResourceList => objectAt(holder, key) as ResourceList;

/** Requests and limits. */
interface Sides {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

/** Returns the limit range items that apply to an object's namespace. */
function itemsFor(object: JsonObject, { world }: WriteContext, type: string): readonly JsonObject[][] {
  const namespace = namespaceOf(object);
  return [...world.store.list('limitranges', `${namespace}/`)].map(({ object: range }) =>
    objectsAt(objectAt(range, 'spec'), 'limits').filter((item) => item['type'] === type),
  );
}

/**
 * Sets the default requests and limits of the namespace's limit ranges on containers, and rejects values outside the ranges.
 *
 * Follows Kubernetes' admission plug-in (v1.36).
 */
export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  handles: (operation, kind, subresource) =>
    isResource(kind, 'pods')
      ? (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'resize')
      : isResource(kind, 'persistentvolumeclaims') &&
        subresource === '' &&
        (operation === 'CREATE' || operation === 'UPDATE'),
  admit: ({ object, kind, context }) =>
    object && isResource(kind, 'pods') ? withDefaultLimits(object, context) : undefined,
  validate({ object = {}, kind, context }) {
    if (valueAt(object, 'metadata', 'deletionTimestamp') !== undefined) return;
    if (isResource(kind, 'pods')) checkPodLimits(object, context);
    else checkClaimLimits(object, context);
  },
};

/** Returns a pod with default requests and limits, and an annotation that lists them. */
function withDefaultLimits(pod: JsonObject, context: WriteContext): JsonObject {
  let next = pod;
  for (const items of itemsFor(pod, context, 'Container')) {
    const limits = Object.assign({}, ...items.map((item) => objectAt(item, 'default'))) as ResourceList;
    const requests = Object.assign(
      {},
      ...items.map((item) => objectAt(item, 'defaultRequest')),
    ) as ResourceList;
    next = withDefaults(next, { limits, requests });
  }
  return next;
}

const named: readonly (readonly [key: string, what: string])[] = [
  ['containers', 'container'],
  ['initContainers', 'init container'],
];

function withDefaults(pod: JsonObject, defaults: Sides): JsonObject {
  const set: string[] = [];
  const spec = objectAt(pod, 'spec');
  const lists = named
    .filter(([key]) => objectsAt(spec, key).length > 0)
    .map(
      ([key, what]) =>
        [
          key,
          objectsAt(spec, key).map((container) => {
            const own = sidesOf(container);
            for (const [side, word] of [
              ['requests', 'request'],
              ['limits', 'limit'],
            ] as const) {
              const missing = Object.keys(defaults[side]).filter((name) => !Object.hasOwn(own[side], name));
              if (missing.length > 0)
                set.push(`${missing.sort().join(', ')} ${word} for ${what} ${stringAt(container, 'name')}`);
            }
            return merged(container, own, defaults);
          }),
        ] as const,
    );
  if (set.length === 0) return pod;
  const annotations = objectAt(objectAt(pod, 'metadata'), 'annotations');
  const value = `LimitRanger plugin set: ${set.join('; ')}`;
  const next = { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
  return withMetadata(next, { annotations: { ...annotations, [annotation]: value } });
}

function merged(container: JsonObject, own: Sides, defaults: Sides): JsonObject {
  const sides = (['limits', 'requests'] as const)
    .map((side) => [side, { ...defaults[side], ...own[side] }] as const)
    .filter(([, list]) => Object.keys(list).length > 0);
  return { ...container, resources: { ...objectAt(container, 'resources'), ...Object.fromEntries(sides) } };
}

type Check = (name: string, enforced: string, sides: Sides) => string | undefined;

const more = (a: string, b: string): boolean => compareQuantities(parseQuantity(a), parseQuantity(b)) > 0;

const least =
  (type: string): Check =>
  (name, enforced, { requests, limits }) => {
    const [request, limit] = [ownMember(requests, name), ownMember(limits, name)];
    const head = `minimum ${name} usage per ${type} is ${enforced}`;
    if (request === undefined) return `${head}.  No request is specified`;
    if (more(enforced, request)) return `${head}, but request is ${request}`;
    return limit !== undefined && more(enforced, limit) ? `${head}, but limit is ${limit}` : undefined;
  };

const most =
  (type: string): Check =>
  (name, enforced, { requests, limits }) => {
    const [request, limit] = [ownMember(requests, name), ownMember(limits, name)];
    const head = `maximum ${name} usage per ${type} is ${enforced}`;
    if (limit === undefined) return `${head}.  No limit is specified`;
    if (more(limit, enforced)) return `${head}, but limit is ${limit}`;
    return request !== undefined && more(request, enforced)
      ? `${head}, but request is ${request}`
      : undefined;
  };

const mostRequest =
  (type: string): Check =>
  (name, enforced, { requests }) => {
    const request = ownMember(requests, name);
    const head = `maximum ${name} usage per ${type} is ${enforced}`;
    if (request === undefined) return `${head}.  No request is specified`;
    return more(request, enforced) ? `${head}, but request is ${request}` : undefined;
  };

const ratio =
  (type: string): Check =>
  (name, enforced, { requests, limits }) => {
    const [request, limit] = [requests, limits].map((side) =>
      milliValueOf(parseQuantity(ownMember(side, name) ?? '0')),
    );
    const head = `${name} max limit to request ratio per ${type} is ${enforced}`;
    if (!request) return `${head}, but no request is specified or request is 0`;
    if (!limit) return `${head}, but no limit is specified or limit is 0`;
    const found = limit / request;
    return found * 1000 > milliValueOf(parseQuantity(enforced))
      ? `${head}, but provided ratio is ${found.toFixed(6)}`
      : undefined;
  };

function broken(item: JsonObject, sides: Sides, checks: Readonly<Record<string, Check>>): string[] {
  return Object.entries(checks).flatMap(([key, check]) =>
    Object.entries(listOf(item, key)).flatMap(([name, enforced]) => check(name, enforced, sides) ?? []),
  );
}

/** @throws {StatusError} 403 if there are any faults */
function refuse(resource: string, object: JsonObject, found: readonly string[]): void {
  if (found.length === 0) return;
  const why = found.length === 1 ? (found[0] ?? '') : `[${[...new Set(found)].join(', ')}]`;
  throw forbidden({ kind: resource, name: nameOf(object) }, why);
}

/** @throws {StatusError} 403 for a pod outside the limits of its namespace */
function checkPodLimits(pod: JsonObject, context: WriteContext): void {
  const spec = objectAt(pod, 'spec');
  const all = named.flatMap(([key]) => objectsAt(spec, key)).map(sidesOf);
  const checksOf = (type: string): Readonly<Record<string, Check>> => ({
    min: least(type),
    max: most(type),
    maxLimitRequestRatio: ratio(type),
  });
  for (const items of itemsFor(pod, context, 'Container'))
    refuse(
      'pods',
      pod,
      items.flatMap((item) => all.flatMap((sides) => broken(item, sides, checksOf('Container')))),
    );
  const whole: Sides = {
    requests: resourceListOf(podRequests(pod)),
    limits: resourceListOf(podLimits(pod)),
  };
  for (const items of itemsFor(pod, context, 'Pod'))
    refuse(
      'pods',
      pod,
      items.flatMap((item) => broken(item, whole, checksOf('Pod'))),
    );
}

/** @throws {StatusError} 403 for a claim outside the limits of its namespace */
function checkClaimLimits(claim: JsonObject, context: WriteContext): void {
  const type = 'PersistentVolumeClaim';
  const sides = { ...sidesOf(objectAt(claim, 'spec')), limits: {} };
  for (const items of itemsFor(claim, context, type))
    refuse(
      'persistentvolumeclaims',
      claim,
      items.flatMap((item) => broken(item, sides, { min: least(type), max: mostRequest(type) })),
    );
}
