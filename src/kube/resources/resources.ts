import { ownMember, setOwn } from '../../base/own.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  maxQuantity,
  parseQuantity,
  type Quantity,
  signOfQuantity,
  tryParseQuantity,
  zeroQuantity,
} from './quantity.ts';
import { isRestartableInitContainer } from '../restart-policy.ts';
import type { Container, Pod, PodSpec } from '../types.ts';
import { isHugePageResource } from './resource-names.ts';

/** Quantities by resource name, in API form. */
export type ResourceList = Readonly<Record<string, string>>;

/** Quantities by resource name, parsed. */
export type Amounts = Readonly<Record<string, Quantity>>;

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The list of a container's or pod's resources: requests or limits. */
export type ResourceSide = 'requests' | 'limits';

/** Options for adding up a pod's resources. */
export interface PodResourcesOptions {
  /** Leave out `spec.overhead`. */
  readonly excludeOverhead?: boolean;
  /** Leave out `spec.resources`. */
  readonly skipPodLevel?: boolean;
  /** Use the status where it is larger than the spec: an in-place resize may be in progress. */
  readonly useStatusResources?: boolean;
}

const nothing: Amounts = {};
/** Cache of parsed lists: pods of one template share them, and each is read again and again. */
const amounts = new WeakMap<ResourceList, Amounts>();

/** Parses a resource list. @throws {AgentError} `invalid_argument` for an invalid quantity */
export function amountsOf(list: ResourceList | undefined): Amounts {
  if (!list) return nothing;
  let found = amounts.get(list);
  if (!found) {
    found = Object.fromEntries(Object.entries(list).map(([name, text]) => [name, parseQuantity(text)]));
    amounts.set(list, found);
  }
  return found;
}

/** Formats a resource list in canonical form. */
export const resourceListOf = (amounts: Amounts): ResourceList =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatQuantity(amount)]));

const combine = (a: Amounts, b: Amounts, both: (x: Quantity, y: Quantity) => Quantity): Amounts => {
  const sum: Record<string, Quantity> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const present = ownMember(sum, name);
    setOwn(sum, name, present ? both(present, amount) : amount);
  }
  return sum;
};
const add = (a: Amounts, b: Amounts): Amounts => combine(a, b, addQuantities);
const greater = (a: Amounts, b: Amounts): Amounts => combine(a, b, maxQuantity);

/**
 * Returns the peak resources of a pod's containers: regular containers and sidecars together, or an init container with the sidecars
 * declared before it, whichever is larger.
 *
 * Follows `resourcehelper.AggregateContainerRequests` and `AggregateContainerLimits`.
 */
export function aggregateContainers(
  spec: PodSpec,
  side: ResourceSide,
  amountsIn: (container: Container) => Amounts = ({ resources }) => amountsOf(resources?.[side]),
): Amounts {
  let total: Amounts = {};
  for (const container of spec.containers) total = add(total, amountsIn(container));
  let sidecars: Amounts = {};
  let initPeak: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = amountsIn(container);
    if (isRestartableInitContainer(container)) {
      total = add(total, own);
      sidecars = add(sidecars, own);
      initPeak = greater(initPeak, sidecars);
    } else initPeak = greater(initPeak, add(own, sidecars));
  }
  return greater(total, initPeak);
}

/** True for resources that pod-level `spec.resources` may contain. */
export const isPodLevelResource = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePageResource(name);

function withPodLevel(amounts: Amounts, pod: Pod, side: ResourceSide): Amounts {
  const podLevel = Object.entries(pod.spec?.resources?.[side] ?? {}).filter(([name]) =>
    isPodLevelResource(name),
  );
  return podLevel.length === 0 ? amounts : { ...amounts, ...amountsOf(Object.fromEntries(podLevel)) };
}

const emptySpec: PodSpec = { containers: [] };

/** Returns requests that take the status into account (`determineContainerReqs`); an infeasible resize does not count. */
function requestsByStatus(pod: Pod): (container: Container) => Amounts {
  const { conditions, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const byName = new Map([...initContainerStatuses, ...containerStatuses].map((one) => [one.name, one]));
  const infeasible = conditions?.some(
    ({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible',
  );
  return ({ name, resources }) => {
    const desired = amountsOf(resources?.requests);
    const { resources: applied, allocatedResources } = byName.get(name) ?? {};
    if (!applied) return desired;
    const actual = greater(amountsOf(applied.requests), amountsOf(allocatedResources));
    return infeasible ? actual : greater(desired, actual);
  };
}

/** Returns the pod's requests including overhead. Follows `resourcehelper.PodRequests`. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): Amounts {
  const containers = aggregateContainers(
    pod.spec ?? emptySpec,
    'requests',
    options.useStatusResources ? requestsByStatus(pod) : undefined,
  );
  const requests = options.skipPodLevel ? containers : withPodLevel(containers, pod, 'requests');
  return options.excludeOverhead ? requests : add(requests, amountsOf(pod.spec?.overhead));
}

/** Returns the pod's limits; overhead is added only to resources with a limit. Follows `resourcehelper.PodLimits`. */
export function podLimits(pod: Pod, options: PodResourcesOptions = {}): Amounts {
  const containers = aggregateContainers(pod.spec ?? emptySpec, 'limits');
  const limits = options.skipPodLevel ? containers : withPodLevel(containers, pod, 'limits');
  if (options.excludeOverhead) return limits;
  const overhead = Object.entries(amountsOf(pod.spec?.overhead)).filter(([name]) => {
    const limit = ownMember(limits, name);
    return limit !== undefined && signOfQuantity(limit) !== 0;
  });
  return add(limits, Object.fromEntries(overhead));
}

const qosResources = ['cpu', 'memory'] as const;

function positive(list: ResourceList | undefined): Amounts {
  const found: Record<string, Quantity> = {};
  for (const name of qosResources) {
    const text = list?.[name];
    if (text === undefined) continue;
    const amount = parseQuantity(text);
    if (signOfQuantity(amount) > 0) found[name] = amount;
  }
  return found;
}

const hasAll = (amounts: Amounts): boolean => qosResources.every((name) => amounts[name] !== undefined);

interface QosSums {
  readonly requests: Amounts;
  readonly limits: Amounts;
  /** True when every container has a CPU and a memory limit. */
  readonly limited: boolean;
}

function qosSums(spec: PodSpec): QosSums {
  const podLevel = spec.resources;
  if (podLevel) {
    const limits = positive(podLevel.limits);
    const named = Object.keys(podLevel.limits ?? {}).length > 0;
    return { requests: positive(podLevel.requests), limits, limited: !named || hasAll(limits) };
  }
  const containers: readonly Container[] = [...spec.containers, ...(spec.initContainers ?? [])];
  let sums: QosSums = { requests: {}, limits: {}, limited: true };
  for (const { resources } of containers) {
    const limits = positive(resources?.limits);
    sums = {
      requests: add(sums.requests, positive(resources?.requests)),
      limits: add(sums.limits, limits),
      limited: sums.limited && hasAll(limits),
    };
  }
  return sums;
}

/**
 * Computes a pod's QoS class from its spec: BestEffort without requests and limits, Guaranteed when all limits equal the requests,
 * otherwise Burstable.
 *
 * Follows `qos.ComputePodQOS`.
 */
export function computeQosClass(spec: PodSpec): QosClass {
  const { requests, limits, limited } = qosSums(spec);
  const [requested, bounded] = [Object.entries(requests), Object.keys(limits)];
  if (requested.length === 0 && bounded.length === 0) return 'BestEffort';
  const equal = requested.every(([name, amount]) => {
    const limit = ownMember(limits, name);
    return limit !== undefined && compareQuantities(limit, amount) === 0;
  });
  return limited && equal && requested.length === bounded.length ? 'Guaranteed' : 'Burstable';
}

const classes = new WeakMap<PodSpec, QosClass>();

/** Returns the QoS class in the pod's status, otherwise the one of its spec. Follows `qos.GetPodQOS`. */
export function qosClassOf(pod: Pod): QosClass {
  const statusClass = pod.status?.qosClass;
  if (statusClass !== undefined && statusClass !== '') return statusClass as QosClass;
  const spec = pod.spec ?? emptySpec;
  let found = classes.get(spec);
  if (found === undefined) classes.set(spec, (found = computeQosClass(spec)));
  return found;
}

/** True when the pod has pod-level requests or limits (`resourcehelper.IsPodLevelResourcesSet`). */
export const hasPodLevelResources = (pod: Pod): boolean =>
  [pod.spec?.resources?.requests, pod.spec?.resources?.limits].some((list) =>
    Object.keys(list ?? {}).some(isPodLevelResource),
  );

/**
 * Returns a pod's request of one resource; pod-level requests replace the containers', overhead is added only to an existing request.
 *
 * Follows Kubernetes `resource.GetResourceRequestQuantity`.
 */
export function podRequestOf(pod: Pod, resource: string): Quantity {
  const own = hasPodLevelResources(pod)
    ? amountsOf(isPodLevelResource(resource) ? pod.spec?.resources?.requests : undefined)
    : aggregateContainers(pod.spec ?? emptySpec, 'requests');
  const amount = ownMember(own, resource) ?? zeroQuantity;
  const overhead = ownMember(amountsOf(pod.spec?.overhead), resource);
  return overhead && signOfQuantity(amount) !== 0 ? addQuantities(amount, overhead) : amount;
}

/** Returns the page size in bytes of a huge page resource name; `undefined` for other names. */
export function hugePageSizeOf(name: string): Quantity | undefined {
  const size = isHugePageResource(name) ? tryParseQuantity(name.slice('hugepages-'.length)) : '';
  return typeof size === 'string' ? undefined : size;
}
