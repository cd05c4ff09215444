import {
  compareQuantities,
  formatQuantity,
  milliQuantity,
  milliValueOf,
  parseQuantity,
  quantityOf,
} from '../kube/quantity.ts';
import type { ResourceList } from '../kube/resources.ts';
import type { Container, ContainerState, ContainerStatus, ResourceRequirements } from '../kube/types.ts';
import type { RuntimeContainerResources, RuntimeContainerStatus } from '../provider/runtime-pod.ts';

/** The smallest CPU limit that a kernel can keep, milli-cores. */
export const minMilliCpuLimit = 10;
/** The smallest number of CPU shares; requests at or below it cannot be told apart. */
export const minCpuShares = 2;

/** The part of a container status that tells of resources. */
export interface ContainerResourceStatus {
  readonly resources: ResourceRequirements;
  readonly allocatedResources?: ResourceList;
}

/**
 * What a container got and what it was promised. A running one shows what the runtime applied, or what was shown before where the
 * runtime does not say; a stopped one what was allocated.
 *
 * Follows kubelet `convertContainerStatusResources`.
 */
export function containerResources(
  instance: RuntimeContainerStatus,
  state: ContainerState,
  old: ContainerStatus | undefined,
  { resources: allocated }: Container,
): ContainerResourceStatus {
  const { requests, limits } = allocated ?? {};
  const promised = requests && Object.keys(requests).length > 0 && { allocatedResources: requests };
  if (!state.running) return { resources: listsOf(requests, limits), ...promised };
  const { resources: before } = isSameRun(instance, old) ? old : {};
  const shownRequests = requests && appliedRequests(requests, instance.resources, before?.requests);
  const shownLimits = limits && appliedLimits(limits, instance.resources, before?.limits);
  return { resources: listsOf(shownRequests, shownLimits), ...promised };
}

const isSameRun = (
  instance: RuntimeContainerStatus,
  old: ContainerStatus | undefined,
): old is ContainerStatus => old?.state?.running !== undefined && old.containerID === instance.id;

const listsOf = (
  requests: ResourceList | undefined,
  limits: ResourceList | undefined,
): ResourceRequirements => ({ ...(limits && { limits }), ...(requests && { requests }) });

function appliedLimits(
  allocated: ResourceList,
  applied: RuntimeContainerResources | undefined,
  before: ResourceList | undefined,
): ResourceList {
  return {
    ...allocated,
    ...cpu(allocated, applied?.cpuLimit, before, minMilliCpuLimit),
    ...memory(applied?.memoryLimit, before),
  };
}

function appliedRequests(
  allocated: ResourceList,
  applied: RuntimeContainerResources | undefined,
  before: ResourceList | undefined,
): ResourceList {
  return {
    ...allocated,
    ...cpu(allocated, applied?.cpuRequest, before, minCpuShares),
    ...memory(applied?.memoryRequest, before),
  };
}

/** Both at or below the smallest value that has an effect: the allocated one is shown. */
function cpu(
  allocated: ResourceList,
  applied: number | undefined,
  before: ResourceList | undefined,
  least: number,
): ResourceList {
  if (applied === undefined) return kept('cpu', before);
  const promised = allocated['cpu'] === undefined ? 0 : milliValueOf(parseQuantity(allocated['cpu']));
  return applied > least || promised > least ? { cpu: formatQuantity(milliQuantity(applied)) } : {};
}

const memory = (applied: number | undefined, before: ResourceList | undefined): ResourceList =>
  applied === undefined
    ? kept('memory', before)
    : { memory: formatQuantity(quantityOf(applied, 'BinarySI')) };

function kept(name: string, before: ResourceList | undefined): ResourceList {
  const amount = before?.[name];
  return amount === undefined ? {} : { [name]: amount };
}

/** Do two quantities say the same amount? Texts that are no quantities are compared as texts. */
export function sameAmount(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return compareQuantities(parseQuantity(a), parseQuantity(b)) === 0;
  } catch {
    return false;
  }
}
