import { join } from 'node:path';
import { cgroupFromPath } from '../kube/cgroup.ts';
import { durationMs } from '../kube/duration.ts';
import { hugePageUnit } from '../kube/resources/huge-page-unit.ts';
import type { MemoryQos, SwapSettings } from '../containers/kuberuntime/config/memory-limits.ts';
import type { ResourceSettings } from '../containers/kuberuntime/config/resources.ts';
import type { SecuritySettings } from '../containers/kuberuntime/config/security-profiles.ts';
import type { KubeletConfiguration } from '../options/kubelet/kubelet-configuration.ts';
import { type EnforcementSettings, reservedCgroups } from '../containers/cm/enforcement.ts';
import type { CgroupFiles } from '../containers/cm/files.ts';
import type { CgroupHost } from '../containers/cm/host.ts';
import type { SystemCgroupSettings } from '../containers/cm/system.ts';
import type { NodeCgroupsOptions } from '../containers/cm/node-cgroups.ts';

/** The settings of containers and their cgroups. */
export type RuntimeConfiguration = Pick<
  KubeletConfiguration,
  | 'cgroupRoot'
  | 'kubeletCgroups'
  | 'systemCgroups'
  | 'oomScoreAdj'
  | 'cgroupsPerQOS'
  | 'cgroupDriver'
  | 'cpuCFSQuota'
  | 'cpuCFSQuotaPeriod'
  | 'podPidsLimit'
  | 'singleProcessOOMKill'
  | 'memorySwap'
  | 'memoryThrottlingFactor'
  | 'memoryReservationPolicy'
  | 'seccompDefault'
  | 'featureGates'
> &
  EnforcementSettings & {
    /** The cgroup of the container runtime (kubelet flag `--runtime-cgroups`). */
    readonly runtimeCgroups?: string;
  };

/** The node's properties that containers depend on. */
export interface RuntimeNode {
  readonly files: CgroupFiles;
  /** Absent: the node has no cgroups, or none are visible. */
  readonly cgroups?: CgroupHost;
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** The memory that is allocatable to pods. */
  readonly allocatableMemoryBytes: number;
  /** The agent's root directory; seccomp profiles are in `seccomp` below it. */
  readonly rootDir: string;
}

const hugePagesFolder = '/sys/kernel/mm/hugepages';

/** Returns the huge page sizes of the host in the spelling of the kernel's cgroup files: `2MB`. */
export const hugePageSizes = (files: CgroupFiles): readonly string[] =>
  files
    .folders(hugePagesFolder)
    .map((folder) => Number(/^hugepages-(\d+)kB$/.exec(folder)?.[1] ?? 0) * 1024)
    .filter((bytes) => bytes > 0)
    .sort((a, b) => a - b)
    .map(hugePageUnit);

/** Returns the settings that container configurations are made from. */
export function runtimeSettings(
  config: RuntimeConfiguration,
  node: RuntimeNode,
): ResourceSettings & SecuritySettings {
  const cgroupV2 = node.cgroups?.version === 2;
  const swap = swapOf(config, node);
  const memoryQos = memoryQosOf(config, node);
  return {
    memoryCapacityBytes: node.memoryCapacityBytes,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsPeriodMicros: periodMicros(config),
    cgroupV2,
    // v1 supports only this
    singleProcessOomKill: config.singleProcessOOMKill ?? !cgroupV2,
    hugePageSizes: hugePageSizes(node.files),
    seccompDefault: config.seccompDefault,
    seccompProfileRoot: join(node.rootDir, 'seccomp'),
    ...(swap && { swap }),
    ...(memoryQos && { memoryQos }),
  };
}

/** Returns how pod cgroups are created; `undefined`: pods have none of their own (`cgroupsPerQOS: false`). */
export function cgroupOptions(
  config: RuntimeConfiguration,
  { files, cgroups }: Pick<RuntimeNode, 'files' | 'cgroups'>,
): NodeCgroupsOptions | undefined {
  if (!config.cgroupsPerQOS) return undefined;
  return {
    root: cgroupFromPath(config.cgroupRoot ?? ''),
    driver: config.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs',
    enforceCpuLimits: config.cpuCFSQuota,
    cpuCfsPeriodMicros: periodMicros(config),
    podPidsLimit: config.podPidsLimit,
    hugePageSizes: hugePageSizes(files),
    enforceAllocatable: config.enforceNodeAllocatable.includes('pods'),
    reserved: reservedCgroups(config),
    system: systemOf(config),
    reserveMemory:
      cgroups?.version === 2 &&
      hasMemoryQos(config) &&
      config.memoryReservationPolicy === 'TieredReservation',
  };
}

/** An empty name means none. */
const systemOf = ({
  kubeletCgroups: kubelet = '',
  runtimeCgroups: runtime = '',
  systemCgroups: misc = '',
  oomScoreAdj,
}: RuntimeConfiguration): SystemCgroupSettings => ({
  oomScoreAdj,
  ...(kubelet !== '' && { kubelet }),
  ...(runtime !== '' && { runtime }),
  ...(misc !== '' && { misc }),
});

const periodMicros = ({ cpuCFSQuotaPeriod }: RuntimeConfiguration): number =>
  durationMs(cpuCFSQuotaPeriod) * 1000;

const hasMemoryQos = ({ featureGates }: RuntimeConfiguration): boolean =>
  featureGates?.['MemoryQoS'] === true;

function memoryQosOf(config: RuntimeConfiguration, node: RuntimeNode): MemoryQos | undefined {
  if (node.cgroups?.version !== 2 || !hasMemoryQos(config)) return undefined;
  return {
    reservationPolicy: config.memoryReservationPolicy,
    throttlingFactor: config.memoryThrottlingFactor,
    allocatableBytes: node.allocatableMemoryBytes,
  };
}

/** Kernels can be built or started without the swap limit. */
function swapOf({ memorySwap }: RuntimeConfiguration, node: RuntimeNode): SwapSettings | undefined {
  const { cgroups, files, swapCapacityBytes } = node;
  const mount = cgroups?.hierarchies.find(({ controllers }) => controllers.includes('memory'))?.mount;
  if (!cgroups || mount === undefined) return undefined;
  const available =
    cgroups.version === 1
      ? files.exists(join(mount, 'memory.memsw.limit_in_bytes'))
      : files.folders(mount).some((folder) => files.exists(join(mount, folder, 'memory.swap.max')));
  return available
    ? { behavior: memorySwap.swapBehavior ?? '', capacityBytes: swapCapacityBytes }
    : undefined;
}
