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

/** How pods are limited, in kubelet's settings. */
export interface PodLimitSettings {
  /** `cpuCFSQuota` */
  readonly enforceCpuLimits: boolean;
  /** `cpuCFSQuotaPeriod`; default: the kernel's 100 ms. */
  readonly cpuCfsPeriodMicros?: number;
  /** `podPidsLimit`; absent or below 1: no limit. */
  readonly podPidsLimit?: number;
  /** Memory that pods request is kept for them (`memoryReservationPolicy: TieredReservation`, cgroup v2); default: no. */
  readonly reserveMemory?: boolean;
}

/** The kernel's file that keeps memory for pods of a class: for good, or as long as there is other memory to take. */
const reservedBy: Readonly<Record<QosClass, string | undefined>> = {
  Guaranteed: 'memory.min',
  Burstable: 'memory.low',
  BestEffort: undefined,
};

/** What the cgroup of a pod is set to. Follows kubelet `podContainerManagerImpl.EnsureExists`. */
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

/** What the cgroups above the pods are set to. */
export interface QosSettings {
  readonly kubepods: CgroupSettings;
  readonly burstable: CgroupSettings;
  readonly bestEffort: CgroupSettings;
}

/**
 * Burstable pods together weigh what they request, best-effort pods together as little as there is; memory that is kept for a pod has
 * to be kept for all above it too. Follows kubelet `qosContainerManagerImpl.UpdateCgroups`.
 */
export function qosSettings(
  activePods: readonly Pod[],
  { reserveMemory = false }: PodLimitSettings,
): QosSettings {
  const sum = (resource: string, ...classes: readonly QosClass[]): Quantity =>
    activePods
      .filter((pod) => classes.includes(qosClassOf(pod)))
      .reduce((total, pod) => addQuantities(total, requestOf(pod, resource)), zeroQuantity);
  const kept = (file: string, ...classes: readonly QosClass[]): CgroupSettings =>
    reserveMemory ? { unified: { [file]: String(valueOf(sum('memory', ...classes))) } } : {};
  return {
    kubepods: kept('memory.min', 'Guaranteed', 'Burstable'),
    burstable: {
      cpuShares: milliCpuToShares(milliValueOf(sum('cpu', 'Burstable'))),
      ...kept('memory.low', 'Burstable'),
    },
    bestEffort: { cpuShares: leastShares },
  };
}

/** What a cgroup weighs that is owed nothing. */
export const leastShares: number = milliCpuToShares(0);

const requestOf = (pod: Pod, resource: string): Quantity =>
  ownMember(podRequests(pod), resource) ?? zeroQuantity;
