import { defaultCpuPeriodMicros, milliCpuToQuota, milliCpuToShares } from '../kube/cgroup.ts';
import { oomScoreAdjOf } from '../kube/oom-score.ts';
import { milliValueOf, parseQuantity, valueOf } from '../kube/quantity.ts';
import type { Container, Pod } from '../kube/types.ts';
import type { LinuxContainerResources } from '../provider/cri-messages.ts';

/** What of the node the limits of a container depend on. */
export interface ResourceSettings {
  readonly memoryCapacityBytes: number;
  /** Whether CPU limits are enforced by CFS quota (kubelet `cpuCFSQuota`); default: yes. */
  readonly cpuCfsQuota?: boolean;
  /** Default: the kernel's 100 ms. */
  readonly cpuCfsPeriodMicros?: number;
}

/**
 * CPU and memory of one container as the runtime sets them: shares by request (by limit where nothing is requested), quota and
 * memory by limit. Follows `generateLinuxContainerResources` (pkg/kubelet/kuberuntime).
 */
export function linuxResources(
  pod: Pod,
  container: Container,
  settings: ResourceSettings,
): LinuxContainerResources {
  const { requests, limits } = container.resources ?? {};
  const milli = (text: string | undefined): number =>
    text === undefined ? 0 : milliValueOf(parseQuantity(text));
  const cpuLimit = milli(limits?.['cpu']);
  const cpuRequest = requests?.['cpu'] === undefined ? cpuLimit : milli(requests['cpu']);
  const memory = limits?.['memory'];
  const cpuPeriod = settings.cpuCfsPeriodMicros ?? defaultCpuPeriodMicros;
  const quota = (settings.cpuCfsQuota ?? true) ? milliCpuToQuota(cpuLimit, cpuPeriod) : 0;
  return {
    cpuShares: milliCpuToShares(cpuRequest),
    ...(quota > 0 && { cpuQuota: quota, cpuPeriod }),
    ...(memory !== undefined && { memoryLimitInBytes: valueOf(parseQuantity(memory)) }),
    oomScoreAdj: oomScoreAdjOf(pod, container, settings.memoryCapacityBytes),
  };
}
