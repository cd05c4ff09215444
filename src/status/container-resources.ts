import {
  formatQuantity,
  milliQuantity,
  milliValueOf,
  parseQuantity,
  quantityOf,
} from '../kube/resources/quantity.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { Container, ContainerState, ContainerStatus, ResourceRequirements } from '../kube/types.ts';
import type { RuntimeContainerStatus } from '../provider/runtime-pod.ts';

/** The smallest CPU limit that the kernel can enforce, milli-cores. */
export const minMilliCpuLimit = 10;
/** The smallest number of CPU shares; requests at or below it cannot be distinguished. */
export const minCpuShares = 2;

/** The part of a container status that describes resources. */
export interface ContainerResourceStatus {
  readonly resources: ResourceRequirements;
  readonly allocatedResources?: ResourceList;
}

/**
 * Computes the resources in a container status. A running container shows what the runtime applied, or the previous value where the runtime
 * does not report one; a stopped container shows what was allocated.
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
  const { cpuRequest, memoryRequest, cpuLimit, memoryLimit } = instance.resources ?? {};
  const [requested, limited] = [
    { cpu: cpuRequest, leastCpu: minCpuShares, memory: memoryRequest, before: before?.requests },
    { cpu: cpuLimit, leastCpu: minMilliCpuLimit, memory: memoryLimit, before: before?.limits },
  ];
  const shown = listsOf(
    requests && shownAmounts(requests, requested),
    limits && shownAmounts(limits, limited),
  );
  return { resources: shown, ...promised };
}

const isSameRun = (
  instance: RuntimeContainerStatus,
  old: ContainerStatus | undefined,
): old is ContainerStatus => old?.state?.running !== undefined && old.containerID === instance.id;

const listsOf = (
  requests: ResourceList | undefined,
  limits: ResourceList | undefined,
): ResourceRequirements => ({ ...(limits && { limits }), ...(requests && { requests }) });

/** What the runtime applied of one list of resources; absent members are not reported. */
interface Applied {
  /** milli-cores */
  readonly cpu: number | undefined;
  /** The smallest value that has an effect, milli-cores. */
  readonly leastCpu: number;
  /** bytes */
  readonly memory: number | undefined;
  /** The list in the previous status. */
  readonly before: ResourceList | undefined;
}

const shownAmounts = (allocated: ResourceList, applied: Applied): ResourceList => ({
  ...allocated,
  ...cpu(allocated['cpu'], applied),
  ...memory(applied),
});

/** The CPU amount to show: the allocated one when both are at or below the smallest value that has an effect. */
function cpu(allocated: string | undefined, { cpu: applied, leastCpu, before }: Applied): ResourceList {
  if (applied === undefined) return amountOf('cpu', before);
  return applied > leastCpu || milliOf(allocated) > leastCpu
    ? { cpu: formatQuantity(milliQuantity(applied)) }
    : {};
}

/** The milli-units of an amount; 0 when there is none. */
export const milliOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : milliValueOf(parseQuantity(amount));

const memory = ({ memory: applied, before }: Applied): ResourceList =>
  applied === undefined
    ? amountOf('memory', before)
    : { memory: formatQuantity(quantityOf(applied, 'BinarySI')) };

/** A list with one amount of `list`; empty when `list` has no such amount. */
export function amountOf(name: string, list: ResourceList | undefined): ResourceList {
  const amount = list?.[name];
  return amount === undefined ? {} : { [name]: amount };
}
