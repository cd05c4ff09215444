import { ownMember } from '../../base/own.ts';
import { isExtendedResource, isHugePageResource, isNativeResource } from '../resources/resource-names.ts';
import {
  compareQuantities,
  formatQuantity,
  type Quantity,
  scaledValue,
  signOfQuantity,
  zeroQuantity,
} from '../resources/quantity.ts';
import {
  aggregateContainers,
  amountsOf,
  hugePageSizeOf,
  isPodLevelResource,
} from '../resources/resources.ts';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../types.ts';
import {
  duplicate,
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  notFound,
  required,
  unsupported,
} from './field-error.ts';
import { qualifiedNameRule } from './name-rules.ts';
import type { PodContext } from './options.ts';
import { label, sorted } from './shared.ts';

type NameRule = (field: string, name: string) => Faults;

const standard: ReadonlySet<string> = new Set([
  ...['cpu', 'memory', 'ephemeral-storage', 'storage'].flatMap((name) => [name, `requests.${name}`]),
  ...[
    'limits.cpu',
    'limits.memory',
    'limits.ephemeral-storage',
    'pods',
    'services',
    'replicationcontrollers',
  ],
  ...['resourcequotas', 'secrets', 'configmaps', 'persistentvolumeclaims'],
  ...['services.nodeports', 'services.loadbalancers'],
]);
const whole: ReadonlySet<string> = new Set([
  ...['pods', 'services', 'replicationcontrollers', 'resourcequotas', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
]);

/** Validates the name of a resource in a quota. Follows Kubernetes `ValidateResourceQuotaResourceName`. */
export function* quotaResourceName(field: string, name: string): Faults {
  yield* resourceName(field, name);
  const huge = /^(requests\.)?hugepages-/.test(name);
  if (!name.includes('/') && !huge && (!standard.has(name) || name === 'storage'))
    yield invalid(field, name, 'must be a standard resource for quota');
}

/** Validates an amount of a resource: not negative, and an integer for resources that cannot be divided. */
export function* resourceAmount(field: string, name: string, amount: Quantity): Faults {
  if (signOfQuantity(amount) < 0)
    yield invalid(field, formatQuantity(amount), 'must be greater than or equal to 0');
  if ((whole.has(name) || isExtendedResource(name)) && scaledValue(amount, -3) % 1000n !== 0n)
    yield invalid(field, formatQuantity(amount), 'must be an integer');
}

/** True when limits may exceed requests. */
export const mayOvercommit = (name: string): boolean => isNativeResource(name) && !isHugePageResource(name);

/** Validates the resources of one container. */
export const validateContainerResources = (
  field: string,
  resources: ResourceRequirements,
  context: PodContext,
): Faults => requirements(field, resources, context, containerResourceName);

/** Validates the name of any resource. Follows Kubernetes `validateResourceName`. */
export function* resourceName(field: string, name: string): Faults {
  const faults = qualifiedNameRule(name);
  yield* invalidEach(field, name, faults);
  if (faults.length === 0 && !name.includes('/') && !standard.has(name) && !isHugePageResource(name))
    yield invalid(field, name, 'must be a standard resource type or fully qualified');
}

/** Validates the name of a container's resource. Follows Kubernetes `validateContainerResourceName`. */
export function* containerResourceName(field: string, name: string): Faults {
  yield* resourceName(field, name);
  const plain = !name.includes('/');
  if (plain && !['cpu', 'memory', 'ephemeral-storage'].includes(name) && !isHugePageResource(name))
    yield invalid(field, name, 'must be a standard resource for containers');
  if (!plain && !isNativeResource(name) && !isExtendedResource(name))
    yield invalid(field, name, "doesn't follow extended resource name standard");
}

function* requirements(
  field: string,
  resources: ResourceRequirements,
  { claimNames }: PodContext,
  nameRule: NameRule,
): Faults {
  const limits = amountsOf(resources.limits);
  const requests = amountsOf(resources.requests);
  for (const [name, amount] of sorted(limits)) {
    yield* oneAmount(`${field}.limits[${name}]`, name, amount, nameRule);
    yield* wholePages(`${field}.limits[${name}]`, name, amount);
  }
  for (const [name, amount] of sorted(requests)) {
    const at = `${field}.requests[${name}]`;
    yield* oneAmount(at, name, amount, nameRule);
    yield* requestWithinLimit(field, name, amount, ownMember(limits, name));
    yield* wholePages(at, name, amount);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePageResource) && !names.includes('cpu') && !names.includes('memory'))
    yield forbidden(field, 'HugePages require cpu or memory');
  yield* claims(`${field}.claims`, resources.claims ?? [], claimNames);
}

function* oneAmount(field: string, name: string, amount: Quantity, nameRule: NameRule): Faults {
  yield* nameRule(field, name);
  yield* resourceAmount(field, name, amount);
}

function* wholePages(field: string, name: string, amount: Quantity): Faults {
  if (isHugePageResource(name) && !isWholePages(name, amount))
    yield invalid(
      field,
      formatQuantity(amount),
      `${formatQuantity(amount)} is not positive integer multiple of ${name}`,
    );
}

function isWholePages(name: string, amount: Quantity): boolean {
  const page = hugePageSizeOf(name);
  if (!page || signOfQuantity(page) <= 0 || scaledValue(page, -3) % 1000n !== 0n) return false;
  return scaledValue(amount, 0) % scaledValue(page, 0) === 0n;
}

function* requestWithinLimit(
  field: string,
  name: string,
  request: Quantity,
  limit: Quantity | undefined,
): Faults {
  if (!limit) {
    if (!mayOvercommit(name))
      yield required(`${field}.limits`, 'Limit must be set for non overcommitable resources');
    return;
  }
  const order = compareQuantities(request, limit);
  const rest = `${name} limit of ${formatQuantity(limit)}`;
  if (order !== 0 && !mayOvercommit(name))
    yield invalid(`${field}.requests`, formatQuantity(request), `must be equal to ${rest}`);
  else if (order > 0)
    yield invalid(`${field}.requests`, formatQuantity(request), `must be less than or equal to ${rest}`);
}

function* claims(
  field: string,
  list: readonly { readonly name?: string; readonly request?: string }[],
  claimNames: ReadonlySet<string>,
): Faults {
  const seen = new Set<string>();
  for (const [i, { name = '', request = '' }] of list.entries()) {
    const at = `${field}[${i}]`;
    if (name === '') {
      yield required(at);
      continue;
    }
    yield* claimedOnce(at, { name, request }, seen);
    if (claimNames.has(name)) continue;
    const validNames = claimNames.size === 0 ? ' which is empty' : `: ${[...claimNames].sort().join(', ')}`;
    yield notFound(at, name, `must be one of the names in pod.spec.resourceClaims${validNames}`);
  }
}

/** Rejects duplicate uses of a claim, as a whole or by request. */
function* claimedOnce(
  at: string,
  { name, request }: { readonly name: string; readonly request: string },
  seen: Set<string>,
): Faults {
  if (seen.has(name)) return yield duplicate(at, name);
  if (request !== '') yield* label(`${at}.request`, request);
  const key = request === '' ? name : `${name}/${request}`;
  if (seen.has(key)) yield duplicate(at, key);
  else if (request === '')
    for (const other of seen) if (other.startsWith(`${name}/`)) yield duplicate(at, name);
  seen.add(key);
}

/** Validates pod-level resources: only some kinds, and at least the containers' requests. */
export function* validatePodResources(field: string, pod: Pod, context: PodContext): Faults {
  const resources = pod.spec?.resources;
  if (!resources) return;
  if (pod.spec.os?.name === 'windows') return yield forbidden(field, 'may not be set for a windows pod');
  if (resources.claims)
    yield forbidden(`${field}.claims`, 'claims may not be set for Resources at pod-level');
  yield* requirements(field, resources, context, podResourceName);
  const requests = amountsOf(resources.requests);
  for (const [name, needed] of sorted(aggregateContainers(pod.spec, 'requests'))) {
    const podRequest = ownMember(requests, name) ?? zeroQuantity;
    if (isPodLevelResource(name) && ownMember(requests, name) && compareQuantities(needed, podRequest) > 0)
      yield invalid(
        `${field}.requests[${name}]`,
        formatQuantity(podRequest),
        `must be greater than or equal to aggregate container requests of ${formatQuantity(needed)}`,
      );
  }
  const limits = amountsOf(resources.limits);
  yield* hugePagesWithinPod(`${field}.limits`, pod.spec, limits);
  yield* containersWithinPod(`${field}.containers`, pod.spec.containers, limits);
}

/** Checks that pod-level huge pages cover those of the containers, as they are not overcommitted. */
function* hugePagesWithinPod(
  field: string,
  spec: PodSpec,
  limits: Readonly<Record<string, Quantity>>,
): Faults {
  for (const [name, needed] of sorted(aggregateContainers(spec, 'limits'))) {
    const most = ownMember(limits, name);
    if (isHugePageResource(name) && most && compareQuantities(needed, most) > 0)
      yield invalid(
        `${field}[${name}]`,
        formatQuantity(most),
        `must be greater than or equal to aggregate container limits of ${formatQuantity(needed)}`,
      );
  }
}

function* podResourceName(field: string, name: string): Faults {
  const faults = [...resourceName(field, name)];
  yield* faults;
  if (faults.length === 0 && !isPodLevelResource(name))
    yield unsupported(field, name, ['cpu', 'hugepages-', 'memory']);
}

function* containersWithinPod(
  field: string,
  containers: readonly Container[],
  podLimits: Readonly<Record<string, Quantity>>,
): Faults {
  for (const [i, { resources }] of containers.entries())
    for (const [name, limit] of sorted(amountsOf(resources?.limits))) {
      const most = ownMember(podLimits, name);
      if (most && compareQuantities(limit, most) > 0)
        yield invalid(
          `${field}[${i}][${name}].limits`,
          formatQuantity(limit),
          `must be less than or equal to pod limits of ${formatQuantity(most)}`,
        );
    }
}
