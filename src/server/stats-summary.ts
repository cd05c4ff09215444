import type { ContainerUsage } from '../provider/usage.ts';
import { type FsUsage, type NodeUsage, type ServedPodUsage, sumOf, type Usage } from './usage.ts';

/** A JSON object without the members that are not known. */
type Members = Readonly<Record<string, unknown>>;

const time = (ms: number): string => `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
const whole = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.floor(value);

/** `/stats/summary` (`stats/v1alpha1`). @param onlyCpuAndMemory leaves out file systems, network and the like */
export function statsSummary(nodeName: string, { node, pods }: Usage, onlyCpuAndMemory: boolean): Members {
  return {
    node: { nodeName, startTime: time(node.bootedAt), ...nodeStats(node, onlyCpuAndMemory) },
    pods: pods.map((pod) => podStats(pod, node, onlyCpuAndMemory)),
  };
}

function nodeStats(node: NodeUsage, onlyCpuAndMemory: boolean): Members {
  const at = time(node.at);
  const basic = {
    cpu: {
      time: at,
      usageNanoCores: whole(node.cpuNanoCores),
      usageCoreNanoSeconds: whole(node.cpuNanos),
    },
    memory: {
      time: at,
      availableBytes: node.memoryAvailableBytes,
      usageBytes: node.memoryUsedBytes,
      workingSetBytes: node.workingSetBytes,
      rssBytes: node.rssBytes,
    },
  };
  if (onlyCpuAndMemory) return basic;
  const [first] = node.interfaces;
  return {
    ...basic,
    ...(first && { network: { time: at, ...first, interfaces: node.interfaces } }),
    ...(node.fs && { fs: fsStats(at, node.fs) }),
    ...(node.mostProcesses !== undefined && {
      rlimit: { time: at, maxpid: node.mostProcesses, curproc: node.processes },
    }),
    swap: { time: at, swapAvailableBytes: node.swapFreeBytes, swapUsageBytes: node.swapUsedBytes },
  };
}

const fsStats = (
  at: string,
  { capacityBytes, availableBytes, usedBytes, inodes, inodesFree }: FsUsage,
): Members => ({
  time: at,
  availableBytes,
  capacityBytes,
  usedBytes,
  inodesFree,
  inodes,
  inodesUsed: inodes - inodesFree,
});

function podStats(pod: ServedPodUsage, node: NodeUsage, onlyCpuAndMemory: boolean): Members {
  const { uid, name, namespace, containers } = pod;
  const sum = sumOf(pod);
  const at = time(node.at);
  return {
    podRef: { name, namespace, uid },
    startTime: time(pod.startedAt ?? Math.min(...containers.map(({ startedAt, at }) => startedAt ?? at))),
    containers: containers.map((one) => containerStats(one, node, onlyCpuAndMemory)),
    cpu: { time: at, usageNanoCores: whole(sum.cpuNanoCores), usageCoreNanoSeconds: whole(sum.cpuNanos) },
    memory: {
      time: at,
      usageBytes: sum.memoryBytes,
      workingSetBytes: sum.workingSetBytes,
      rssBytes: sum.rssBytes,
    },
  };
}

function containerStats(one: ContainerUsage, { fs }: NodeUsage, onlyCpuAndMemory: boolean): Members {
  const at = time(one.at);
  const { rootfsBytes, rootfsInodes } = one;
  return {
    name: one.name,
    startTime: time(one.startedAt ?? one.at),
    cpu: { time: at, usageNanoCores: whole(one.cpuNanoCores), usageCoreNanoSeconds: whole(one.cpuNanos) },
    memory: {
      time: at,
      usageBytes: one.memoryBytes,
      workingSetBytes: one.workingSetBytes,
      rssBytes: one.rssBytes,
      pageFaults: one.pageFaults,
      majorPageFaults: one.majorPageFaults,
    },
    ...(!onlyCpuAndMemory &&
      fs &&
      rootfsBytes !== undefined && {
        rootfs: { ...fsStats(at, fs), usedBytes: rootfsBytes, inodesUsed: rootfsInodes },
      }),
  };
}
