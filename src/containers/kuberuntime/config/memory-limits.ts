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

/** Swap as the node has it and as the kubelet is told to share it out. */
export interface SwapSettings {
  /** Kubelet `memorySwap.swapBehavior`; anything but `LimitedSwap` gives containers none. */
  readonly behavior: string;
  readonly capacityBytes: number;
}

/** Reserving and throttling memory (cgroup v2). */
export interface MemoryQos {
  /** Kubelet `memoryReservationPolicy`: `None`, or `TieredReservation` to keep what is requested for the container. */
  readonly reservationPolicy: string;
  /** Kubelet `memoryThrottlingFactor`, 0 to 1: where between request and limit a container is slowed down. */
  readonly throttlingFactor: number;
  /** What a container without a limit could use at most. */
  readonly allocatableBytes: number;
  /** Default: 4096. */
  readonly pageBytes?: number;
}

/** The node's side of swap. */
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
 * How much a container may swap: in proportion to the memory that it requests, and nothing for those whose memory is a promise (other
 * than burstable, critical, limited to what they request). Without cgroup v2 nobody swaps.
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
  // v1 limits memory and swap together
  if (!node.cgroupV2) return memoryLimit === undefined ? {} : { memorySwapLimitInBytes: memoryLimit };
  const allowed = maySwap(pod, container, node.swap) ? swapShare(container, node, node.swap) : 0;
  return { unified: { 'memory.swap.max': String(allowed) } };
}

/** Is the container given swap (`GetContainerSwapBehavior`)? */
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

/** A container that requests more than the node has gets none. */
function swapShare(
  container: Container,
  { memoryCapacityBytes }: SwapNode,
  { capacityBytes }: SwapSettings,
): number {
  const { request } = memoryOf(container);
  return request > memoryCapacityBytes ? 0 : Math.trunc((request / memoryCapacityBytes) * capacityBytes);
}

/**
 * The memory that the kernel keeps for a container (`memory.min` for guaranteed pods, `memory.low` for others) and from where on
 * it slows the container down (`memory.high`), a whole number of pages between request and limit.
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
