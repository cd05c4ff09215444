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

/** What of the node the limits of a container depend on. */
export interface ResourceSettings {
  readonly memoryCapacityBytes: number;
  /** Whether CPU limits are enforced by CFS quota (kubelet `cpuCFSQuota`); default: yes. */
  readonly cpuCfsQuota?: boolean;
  /** Default: the kernel's 100 ms. */
  readonly cpuCfsPeriodMicros?: number;
  /** Whether the node has cgroup v2 alone; default: no, so nothing is set that only v2 knows. */
  readonly cgroupV2?: boolean;
  /** Kubelet `singleProcessOOMKill`; only an explicit `false` ends all processes of a container together (cgroup v2). */
  readonly singleProcessOomKill?: boolean;
  /** The sizes of huge pages that the host offers, as the kernel's cgroup files spell them: `2MB`. Default: none. */
  readonly hugePageSizes?: readonly string[];
  /** Absent: the host cannot limit swap. */
  readonly swap?: SwapSettings;
  /** Absent: memory is neither reserved nor throttled (kubelet feature `MemoryQoS`). */
  readonly memoryQos?: MemoryQos;
}

/** What is limited, before the node has a say. */
interface Wanted {
  /** Absent: not requested, the limit counts. */
  readonly cpuRequest?: Quantity;
  readonly cpuLimit: Quantity;
  readonly memoryLimit: Quantity;
}

/**
 * What the runtime sets for one container: CPU shares by request (by limit where nothing is requested), quota and memory by limit, huge
 * pages, swap, and how likely it is killed for memory. A container without a limit of its own has the pod's.
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

/** What a whole pod may use, its overhead left out. Follows `calculateSandboxResources`. */
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

/** What running the pod costs beside its containers; empty without an overhead. Follows `convertOverheadToLinuxResources`. */
export function overheadResources(pod: Pod, settings: ResourceSettings): LinuxContainerResources {
  if (!pod.spec?.overhead) return {};
  const overhead = amountsOf(pod.spec.overhead);
  const cpu = overhead['cpu'] ?? zeroQuantity;
  return linuxResourcesOf(
    { cpuRequest: cpu, cpuLimit: cpu, memoryLimit: overhead['memory'] ?? zeroQuantity },
    settings,
  );
}

/** Follows `calculateLinuxResources`. */
function linuxResourcesOf(
  { cpuRequest, cpuLimit, memoryLimit }: Wanted,
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

/** The container's own limit or, where it has none, the pod's. */
function effectiveLimits(pod: Pod, container: Container): (resource: string) => Quantity {
  const own = amountsOf(container.resources?.limits);
  const whole: ResourceList = hasPodLevelResources(pod) ? (pod.spec?.resources?.limits ?? {}) : {};
  const shared = amountsOf(whole);
  return (resource) => {
    const limit = ownMember(own, resource) ?? zeroQuantity;
    return isZeroQuantity(limit) ? (ownMember(shared, resource) ?? zeroQuantity) : limit;
  };
}
