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

/** Amounts by resource name, as the API writes them. */
export type ResourceList = Readonly<Record<string, string>>;

/** Amounts by resource name, ready to be counted with. */
export type Amounts = Readonly<Record<string, Quantity>>;

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** Which of two lists of a container or pod is meant. */
export type ResourceSide = 'requests' | 'limits';

/** How the numbers of a pod are added up. */
export interface PodResourcesOptions {
  /** Leave `spec.overhead` out. */
  readonly excludeOverhead?: boolean;
  /** Leave `spec.resources` out. */
  readonly skipPodLevel?: boolean;
  /** Count what a container still has, or was promised, where that is more than it asks for: an in-place resize may be under way. */
  readonly useStatusResources?: boolean;
}

const nothing: Amounts = {};
/** Pods of one template share their lists, and each list is read again and again. */
const amounts = new WeakMap<ResourceList, Amounts>();

/** Reads a resource list. @throws {AgentError} `invalid_argument` for a quantity that is none */
export function amountsOf(list: ResourceList | undefined): Amounts {
  if (!list) return nothing;
  let found = amounts.get(list);
  if (!found) {
    found = Object.fromEntries(Object.entries(list).map(([name, text]) => [name, parseQuantity(text)]));
    amounts.set(list, found);
  }
  return found;
}

/** Writes a resource list in canonical form. */
export const resourceListOf = (amounts: Amounts): ResourceList =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatQuantity(amount)]));

const combine = (a: Amounts, b: Amounts, both: (x: Quantity, y: Quantity) => Quantity): Amounts => {
  const sum: Record<string, Quantity> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const held = ownMember(sum, name);
    setOwn(sum, name, held ? both(held, amount) : amount);
  }
  return sum;
};
const add = (a: Amounts, b: Amounts): Amounts => combine(a, b, addQuantities);
const greater = (a: Amounts, b: Amounts): Amounts => combine(a, b, maxQuantity);

/**
 * What the containers of a pod need at their peak: regular ones and sidecars together, or an init container beside the sidecars
 * that are declared before it, whichever is more.
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

/** Resources that `spec.resources` of a pod may name. */
export const isPodLevelResource = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePageResource(name);

function withPodLevel(amounts: Amounts, pod: Pod, side: ResourceSide): Amounts {
  const podLevel = Object.entries(pod.spec?.resources?.[side] ?? {}).filter(([name]) =>
    isPodLevelResource(name),
  );
  return podLevel.length === 0 ? amounts : { ...amounts, ...amountsOf(Object.fromEntries(podLevel)) };
}

const emptySpec: PodSpec = { containers: [] };

/** Requests with what the status shows (`determineContainerReqs`): a resize that never fits does not count. */
function requestsByStatus(pod: Pod): (container: Container) => Amounts {
  const { conditions, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const byName = new Map([...initContainerStatuses, ...containerStatuses].map((one) => [one.name, one]));
  const infeasible = conditions?.some(
    ({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible',
  );
  return ({ name, resources }) => {
    const asked = amountsOf(resources?.requests);
    const { resources: applied, allocatedResources } = byName.get(name) ?? {};
    if (!applied) return asked;
    const held = greater(amountsOf(applied.requests), amountsOf(allocatedResources));
    return infeasible ? held : greater(asked, held);
  };
}

/** What the pod asks for, overhead included. Follows `resourcehelper.PodRequests`. */
export function podRequests(pod: Pod, options: PodResourcesOptions = {}): Amounts {
  const containers = aggregateContainers(
    pod.spec ?? emptySpec,
    'requests',
    options.useStatusResources ? requestsByStatus(pod) : undefined,
  );
  const requests = options.skipPodLevel ? containers : withPodLevel(containers, pod, 'requests');
  return options.excludeOverhead ? requests : add(requests, amountsOf(pod.spec?.overhead));
}

/** What the pod may use; overhead counts only where there is a limit. Follows `resourcehelper.PodLimits`. */
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
  /** Everyone who counts has both limits. */
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
 * The pod's quality of service by its spec alone: nothing asked for, everything limited to what is asked for, or in between.
 *
 * Follows `qos.ComputePodQOS`.
 */
export function computeQosClass(spec: PodSpec): QosClass {
  const { requests, limits, limited } = qosSums(spec);
  const [asked, bounded] = [Object.entries(requests), Object.keys(limits)];
  if (asked.length === 0 && bounded.length === 0) return 'BestEffort';
  const equal = asked.every(([name, amount]) => {
    const limit = ownMember(limits, name);
    return limit !== undefined && compareQuantities(limit, amount) === 0;
  });
  return limited && equal && asked.length === bounded.length ? 'Guaranteed' : 'Burstable';
}

const known = new WeakMap<PodSpec, QosClass>();

/** The class that the pod's status names, else the one of its spec. Follows `qos.GetPodQOS`. */
export function qosClassOf(pod: Pod): QosClass {
  const told = pod.status?.qosClass;
  if (told !== undefined && told !== '') return told as QosClass;
  const spec = pod.spec ?? emptySpec;
  let found = known.get(spec);
  if (found === undefined) known.set(spec, (found = computeQosClass(spec)));
  return found;
}

/** Whether the pod as a whole has requests or limits that count (`resourcehelper.IsPodLevelResourcesSet`). */
export const hasPodLevelResources = (pod: Pod): boolean =>
  [pod.spec?.resources?.requests, pod.spec?.resources?.limits].some((list) =>
    Object.keys(list ?? {}).some(isPodLevelResource),
  );

/**
 * What a pod asks for of one resource; pod-level requests stand alone, overhead counts only beside a request.
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

/** Bytes of a huge page resource's page, from its name; `undefined` when the name is none. */
export function hugePageSizeOf(name: string): Quantity | undefined {
  const size = isHugePageResource(name) ? tryParseQuantity(name.slice('hugepages-'.length)) : '';
  return typeof size === 'string' ? undefined : size;
}
