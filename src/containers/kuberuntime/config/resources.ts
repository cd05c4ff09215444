import { ownMember } from '../../../base/own.ts';
import { defaultCpuPeriodMicros, milliCpuToQuota, milliCpuToShares } from '../../../kube/cgroup.ts';
import { oomScoreAdjOf } from '../../../kube/oom-score.ts';
import {
  isZeroQuantity,
  milliValueOf,
  type Quantity,
  valueOf,
  zeroQuantity,
} from '../../../kube/resources/quantity.ts';
import {
  amountsOf,
  hasPodLevelResources,
  podLimits,
  podRequests,
  type ResourceList,
} from '../../../kube/resources/resources.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { LinuxContainerResources } from '../../../provider/cri-messages.ts';
import { hugePageLimits } from './huge-pages.ts';
import { type MemoryQos, memoryQosOf, type SwapSettings, swapOf } from './memory-limits.ts';

/** Node settings that determine the limits of containers. */
export interface ResourceSettings {
  readonly memoryCapacityBytes: number;
  /** Enforce CPU limits by CFS quota (kubelet `cpuCFSQuota`); default: true. */
  readonly cpuCfsQuota?: boolean;
  /** CFS period in microseconds; default: the kernel's 100 ms. */
  readonly cpuCfsPeriodMicros?: number;
  /** True when the node has cgroup v2 only; default: false, so nothing specific to v2 is set. */
  readonly cgroupV2?: boolean;
  /** Kubelet `singleProcessOOMKill`; with an explicit `false`, an OOM kill ends all processes of a container (cgroup v2). */
  readonly singleProcessOomKill?: boolean;
  /** Huge page sizes of the host, in the form of the kernel's cgroup files: `2MB`. Default: none. */
  readonly hugePageSizes?: readonly string[];
  /** Swap settings; absent: the host cannot limit swap. */
  readonly swap?: SwapSettings;
  /** Memory QoS settings; absent: memory is neither reserved nor throttled (kubelet feature `MemoryQoS`). */
  readonly memoryQos?: MemoryQos;
}

/** Requests and limits before the node's settings apply. */
interface DesiredResources {
  /** CPU request; absent: the limit is used. */
  readonly cpuRequest?: Quantity;
  readonly cpuLimit: Quantity;
  readonly memoryLimit: Quantity;
}

/**
 * Returns a container's Linux resources: CPU shares by request (by limit without one), quota and memory by limit, huge
 * pages, swap and the OOM score. A container without a limit of its own gets the pod's.
 *
 * Follows `generateLinuxContainerResources` (pkg/kubelet/kuberuntime).
 */
export function linuxResources(
  pod: Pod,
  container: Container,
  settings: ResourceSettings,
): LinuxContainerResources {
  const requests = amountsOf(container.resources?.requests);
  const limits = effectiveLimits(pod, container);
  const base = linuxResourcesOf(
    {
      ...(requests['cpu'] && { cpuRequest: requests['cpu'] }),
      cpuLimit: limits('cpu'),
      memoryLimit: limits('memory'),
    },
    settings,
  );
  const swap = swapOf(pod, container, base.memoryLimitInBytes, settings);
  const unified = {
    ...base.unified,
    ...swap.unified,
    ...(settings.memoryQos && memoryQosOf(pod, container, settings.memoryQos)),
  };
  return {
    ...base,
    ...swap,
    oomScoreAdj: oomScoreAdjOf(pod, container, settings.memoryCapacityBytes),
    hugepageLimits: hugePageLimits(pod, container, settings.hugePageSizes ?? []),
    ...(Object.keys(unified).length > 0 && { unified }),
  };
}

/** Returns the resources of a whole pod without its overhead. Follows `calculateSandboxResources`. */
export function sandboxResources(pod: Pod, settings: ResourceSettings): LinuxContainerResources {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  return linuxResourcesOf(
    {
      ...(requests['cpu'] && { cpuRequest: requests['cpu'] }),
      cpuLimit: limits['cpu'] ?? zeroQuantity,
      memoryLimit: limits['memory'] ?? zeroQuantity,
    },
    settings,
  );
}

/** Returns the resources of the pod's overhead; empty without one. Follows `convertOverheadToLinuxResources`. */
export function overheadResources(pod: Pod, settings: ResourceSettings): LinuxContainerResources {
  if (!pod.spec?.overhead) return {};
  const overhead = amountsOf(pod.spec.overhead);
  const cpu = overhead['cpu'] ?? zeroQuantity;
  return linuxResourcesOf(
    { cpuRequest: cpu, cpuLimit: cpu, memoryLimit: overhead['memory'] ?? zeroQuantity },
    settings,
  );
}

/** Converts requests and limits. Follows `calculateLinuxResources`. */
function linuxResourcesOf(
  { cpuRequest, cpuLimit, memoryLimit }: DesiredResources,
  settings: ResourceSettings,
): LinuxContainerResources {
  const cpuPeriod = settings.cpuCfsPeriodMicros ?? defaultCpuPeriodMicros;
  const cpuQuota = milliCpuToQuota(milliValueOf(cpuLimit), cpuPeriod);
  const memoryLimitInBytes = valueOf(memoryLimit);
  const killTogether = settings.cgroupV2 === true && settings.singleProcessOomKill === false;
  return {
    cpuShares: milliCpuToShares(milliValueOf(cpuRequest ?? cpuLimit)),
    ...((settings.cpuCfsQuota ?? true) && { cpuPeriod, ...(cpuQuota !== 0 && { cpuQuota }) }),
    ...(memoryLimitInBytes !== 0 && { memoryLimitInBytes }),
    ...(killTogether && { unified: { 'memory.oom.group': '1' } }),
  };
}

/** Returns the effective limit per resource: the container's own or, without one, the pod's. */
function effectiveLimits(pod: Pod, container: Container): (resource: string) => Quantity {
  const own = amountsOf(container.resources?.limits);
  const whole: ResourceList = hasPodLevelResources(pod) ? (pod.spec?.resources?.limits ?? {}) : {};
  const shared = amountsOf(whole);
  return (resource) => {
    const limit = ownMember(own, resource) ?? zeroQuantity;
    return isZeroQuantity(limit) ? (ownMember(shared, resource) ?? zeroQuantity) : limit;
  };
}
