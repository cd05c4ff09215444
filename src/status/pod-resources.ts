import { formatQuantity, milliQuantity, quantityOf } from '../kube/resources/quantity.ts';
import { podLimits, podRequests, type ResourceList, resourceListOf } from '../kube/resources/resources.ts';
import type { Pod, PodSpec, PodStatus, ResourceRequirements } from '../kube/types.ts';
import { milliOf, minCpuShares, minMilliCpuLimit, amountOf } from './container-resources.ts';

/** The settings of the pod's cgroup; an absent member could not be read. */
export interface PodCgroupConfig {
  readonly cpuShares?: number;
  /** µs per period; -1: no limit */
  readonly cpuQuota?: number;
  /** µs */
  readonly cpuPeriod?: number;
  /** bytes; -1: no limit */
  readonly memory?: number;
}

/** The part of a pod status that describes the resources of the pod as a whole. */
export interface PodResourceStatus {
  readonly resources: ResourceRequirements;
  readonly allocatedResources?: ResourceList;
}

/**
 * Computes the pod-level resources of a status: what was allocated. For a pod that is Running in the API, the settings of its cgroup
 * override it, or the previous status where the cgroup cannot be read. Memory that the pod level does not request is the sum of the
 * containers' memory.
 *
 * Follows kubelet `convertPodLevelResourcesStatus`.
 */
export function podResourceStatus(pod: Pod, cgroup: PodCgroupConfig, old: PodStatus): PodResourceStatus {
  const { requests, limits } = allocatedOf(pod);
  const allocated = hasAny(requests) && { allocatedResources: requests };
  if (pod.status?.phase !== 'Running') return { resources: requirements(requests, limits), ...allocated };
  const promised: ResourceRequirements = pod.spec?.resources ?? {};
  const before = (old.phase === 'Running' ? old.resources : undefined) ?? {};
  const shown = requirements(
    requestsNow(cgroup, { ...amountOf('memory', requests), ...promised.requests }, before.requests),
    limitsNow(cgroup, promised.limits, before.limits),
  );
  return { resources: shown, ...allocated };
}

const requestsNow = (
  cgroup: PodCgroupConfig,
  promised: ResourceList | undefined,
  before: ResourceList | undefined,
): ResourceList => ({
  ...amountOf('cpu', promised),
  ...(cpuRequest(cgroup, promised?.['cpu']) ?? amountOf('cpu', before)),
  ...amountOf('memory', promised),
  ...amountOf('memory', before),
});

const limitsNow = (
  cgroup: PodCgroupConfig,
  promised: ResourceList | undefined,
  before: ResourceList | undefined,
): ResourceList => ({
  ...amountOf('cpu', promised),
  ...(cpuLimit(cgroup, promised?.['cpu']) ?? amountOf('cpu', before)),
  ...amountOf('memory', promised),
  ...(memoryLimit(cgroup) ?? amountOf('memory', before)),
});

interface Allocated {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

const cache = new WeakMap<PodSpec, Allocated>();

/** The sums of a spec, computed once per spec. */
function allocatedOf(pod: Pod): Allocated {
  const spec = pod.spec ?? { containers: [] };
  let found = cache.get(spec);
  if (!found) {
    found = { requests: resourceListOf(podRequests(pod)), limits: resourceListOf(podLimits(pod)) };
    cache.set(spec, found);
  }
  return found;
}

const hasAny = (list: ResourceList): boolean => Object.keys(list).length > 0;

const requirements = (requests: ResourceList, limits: ResourceList): ResourceRequirements => ({
  ...(hasAny(limits) && { limits }),
  ...(hasAny(requests) && { requests }),
});

/** Converts cgroup CPU shares to milli-cores. */
const milliOfShares = (shares: number): number => Math.ceil((shares * 1000) / 1024);

function cpuRequest({ cpuShares }: PodCgroupConfig, allocated: string | undefined): ResourceList | undefined {
  if (cpuShares === undefined) return undefined;
  if (cpuShares <= minCpuShares && milliOf(allocated) <= minCpuShares) return {};
  return { cpu: formatQuantity(milliQuantity(milliOfShares(cpuShares))) };
}

function cpuLimit(
  { cpuQuota, cpuPeriod }: PodCgroupConfig,
  allocated: string | undefined,
): ResourceList | undefined {
  if (cpuQuota === undefined || cpuPeriod === undefined || cpuQuota <= 0) return undefined;
  const milli = Math.floor((cpuQuota * 1000) / cpuPeriod);
  if (milli <= minMilliCpuLimit && milliOf(allocated) <= minMilliCpuLimit) return {};
  return { cpu: formatQuantity(milliQuantity(milli)) };
}

const memoryLimit = ({ memory }: PodCgroupConfig): ResourceList | undefined =>
  memory === undefined || memory <= 0
    ? undefined
    : { memory: formatQuantity(quantityOf(memory, 'BinarySI')) };
