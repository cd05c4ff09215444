import { ownMember } from '../../base/own.ts';
import { milliCpuToShares, podCgroupConfig } from '../../kube/cgroup.ts';
import {
  addQuantities,
  milliValueOf,
  type Quantity,
  valueOf,
  zeroQuantity,
} from '../../kube/resources/quantity.ts';
import { podRequests, type QosClass, qosClassOf } from '../../kube/resources/resources.ts';
import type { Pod } from '../../kube/types.ts';
import type { CgroupSettings } from './settings.ts';

/** The kubelet settings that limit pods. */
export interface PodLimitSettings {
  /** Kubelet `cpuCFSQuota`. */
  readonly enforceCpuLimits: boolean;
  /** Kubelet `cpuCFSQuotaPeriod`; default: the kernel's 100 ms. */
  readonly cpuCfsPeriodMicros?: number;
  /** Kubelet `podPidsLimit`; absent or below 1: no limit. */
  readonly podPidsLimit?: number;
  /** Reserves the memory that pods request (`memoryReservationPolicy: TieredReservation`, cgroup v2); default: false. */
  readonly reserveMemory?: boolean;
}

/**
 * The control file that reserves memory for a QoS class: unconditionally (`memory.min`), or until memory runs short elsewhere
 * (`memory.low`).
 */
const reservedBy: Readonly<Record<QosClass, string | undefined>> = {
  Guaranteed: 'memory.min',
  Burstable: 'memory.low',
  BestEffort: undefined,
};

/** Returns the settings of a pod's cgroup. Follows kubelet `podContainerManagerImpl.EnsureExists`. */
export function podSettings(pod: Pod, limits: PodLimitSettings): CgroupSettings {
  const { enforceCpuLimits, cpuCfsPeriodMicros, podPidsLimit = -1, reserveMemory = false } = limits;
  const reservation = reservedBy[qosClassOf(pod)];
  const memory = valueOf(requestOf(pod, 'memory'));
  return {
    ...podCgroupConfig(pod, enforceCpuLimits, cpuCfsPeriodMicros),
    ...(podPidsLimit > 0 && { pids: podPidsLimit }),
    ...(reserveMemory && reservation && memory > 0 && { unified: { [reservation]: String(memory) } }),
  };
}

/** Settings of the cgroups above the pods. */
export interface QosSettings {
  readonly kubepods: CgroupSettings;
  readonly burstable: CgroupSettings;
  readonly bestEffort: CgroupSettings;
}

/**
 * Returns the settings of the cgroups above the pods: the burstable cgroup gets the sum of its pods' CPU requests, the best-effort cgroup
 * the minimum. Memory reserved for a pod is reserved in every cgroup above it too. Follows kubelet `qosContainerManagerImpl.UpdateCgroups`.
 */
export function qosSettings(
  activePods: readonly Pod[],
  { reserveMemory = false }: PodLimitSettings,
): QosSettings {
  const sum = (resource: string, ...classes: readonly QosClass[]): Quantity =>
    activePods
      .filter((pod) => classes.includes(qosClassOf(pod)))
      .reduce((total, pod) => addQuantities(total, requestOf(pod, resource)), zeroQuantity);
  const reserved = (file: string, ...classes: readonly QosClass[]): CgroupSettings =>
    reserveMemory ? { unified: { [file]: String(valueOf(sum('memory', ...classes))) } } : {};
  return {
    kubepods: reserved('memory.min', 'Guaranteed', 'Burstable'),
    burstable: {
      cpuShares: milliCpuToShares(milliValueOf(sum('cpu', 'Burstable'))),
      ...reserved('memory.low', 'Burstable'),
    },
    bestEffort: { cpuShares: leastShares },
  };
}

/** The minimum number of CPU shares, for cgroups without requests. */
export const leastShares: number = milliCpuToShares(0);

const requestOf = (pod: Pod, resource: string): Quantity =>
  ownMember(podRequests(pod), resource) ?? zeroQuantity;
