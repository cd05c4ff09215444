import { isCriticalPod } from '../../../kube/priority.ts';
import {
  compareQuantities,
  isZeroQuantity,
  valueOf,
  zeroQuantity,
} from '../../../kube/resources/quantity.ts';
import { amountsOf, qosClassOf } from '../../../kube/resources/resources.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { LinuxContainerResources } from '../../../provider/cri-messages.ts';

/** Swap of the node and its configuration. */
export interface SwapSettings {
  /** Kubelet `memorySwap.swapBehavior`; any value but `LimitedSwap` gives containers no swap. */
  readonly behavior: string;
  readonly capacityBytes: number;
}

/** Settings of memory reservation and throttling (cgroup v2). */
export interface MemoryQos {
  /** Kubelet `memoryReservationPolicy`: `None`, or `TieredReservation` to reserve requested memory. */
  readonly reservationPolicy: string;
  /** Kubelet `memoryThrottlingFactor`, 0 to 1: where between request and limit throttling begins. */
  readonly throttlingFactor: number;
  /** Upper bound for a container without a limit. */
  readonly allocatableBytes: number;
  /** Page size; default: 4096. */
  readonly pageBytes?: number;
}

/** The node's swap settings. */
interface SwapNode {
  readonly memoryCapacityBytes: number;
  readonly cgroupV2?: boolean;
  readonly swap?: SwapSettings;
}

interface MemoryOf {
  readonly request: number;
  readonly limit: number;
}

function memoryOf({ resources }: Container): MemoryOf {
  const bytes = (list: Readonly<Record<string, string>> | undefined): number =>
    valueOf(amountsOf(list)['memory'] ?? zeroQuantity);
  return { request: bytes(resources?.requests), limit: bytes(resources?.limits) };
}

/**
 * Returns a container's swap limit: proportional to its memory request, and none for containers without swap access (pods
 * other than burstable, critical pods, containers with limit = request). Without cgroup v2 no container swaps.
 *
 * Follows `configureContainerSwapResources` (pkg/kubelet/kuberuntime).
 *
 * @param memoryLimit bytes; absent: unlimited
 */
export function swapOf(
  pod: Pod,
  container: Container,
  memoryLimit: number | undefined,
  node: SwapNode,
): Pick<LinuxContainerResources, 'unified' | 'memorySwapLimitInBytes'> {
  if (!node.swap) return {};
  // v1 has one limit for memory and swap together.
  if (!node.cgroupV2) return memoryLimit === undefined ? {} : { memorySwapLimitInBytes: memoryLimit };
  const allowed = maySwap(pod, container, node.swap) ? swapShare(container, node, node.swap) : 0;
  return { unified: { 'memory.swap.max': String(allowed) } };
}

/** True when a container may use swap (`GetContainerSwapBehavior`). */
export const isSwappable = (pod: Pod, container: Container, { cgroupV2, swap }: SwapNode): boolean =>
  cgroupV2 === true && swap !== undefined && maySwap(pod, container, swap);

function maySwap(pod: Pod, container: Container, { behavior }: SwapSettings): boolean {
  if (behavior !== 'LimitedSwap' || qosClassOf(pod) !== 'Burstable' || isCriticalPod(pod)) return false;
  const { requests, limits } = container.resources ?? {};
  const [request, limit] = [requests, limits].map((list) => amountsOf(list)['memory'] ?? zeroQuantity);
  return (
    request !== undefined &&
    !isZeroQuantity(request) &&
    compareQuantities(request, limit ?? zeroQuantity) !== 0
  );
}

/** Returns a container's share of the node's swap; 0 when it requests more memory than the node has. */
function swapShare(
  container: Container,
  { memoryCapacityBytes }: SwapNode,
  { capacityBytes }: SwapSettings,
): number {
  const { request } = memoryOf(container);
  return request > memoryCapacityBytes ? 0 : Math.trunc((request / memoryCapacityBytes) * capacityBytes);
}

/**
 * Returns the memory that the kernel reserves for a container (`memory.min` for guaranteed pods, `memory.low` for others) and the value at
 * which it throttles the container (`memory.high`), a multiple of the page size between request and limit.
 *
 * Follows the memory QoS part of `generateLinuxContainerResources`.
 */
export function memoryQosOf(
  pod: Pod,
  container: Container,
  qos: MemoryQos,
): Readonly<Record<string, string>> {
  const memory = memoryOf(container);
  const high = throttleAt(memory, qos);
  return {
    ...reservation(pod, memory, qos),
    ...(high > memory.request && { 'memory.high': String(high) }),
  };
}

const unreserved: Readonly<Record<string, string>> = { 'memory.min': '0', 'memory.low': '0' };

function reservation(
  pod: Pod,
  { request }: MemoryOf,
  { reservationPolicy }: MemoryQos,
): Readonly<Record<string, string>> {
  if (reservationPolicy !== 'TieredReservation' || request === 0) return unreserved;
  return { [qosClassOf(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) };
}

function throttleAt({ request, limit }: MemoryOf, qos: MemoryQos): number {
  if (request === limit) return 0;
  const most = limit === 0 ? qos.allocatableBytes : limit;
  const page = qos.pageBytes ?? 4096;
  return Math.floor((request + (most - request) * qos.throttlingFactor) / page) * page;
}
