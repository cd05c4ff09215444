import { rfc3339 } from '../../kube/time.ts';
import type { ContainerUsage } from '../../provider/usage.ts';
import {
  type FsUsage,
  type InterfaceUsage,
  type NodeUsage,
  type ServedPodUsage,
  sumOf,
  type Usage,
  type UsageDetails,
} from './usage.ts';

/** A JSON object; unknown members are absent. */
type Members = Readonly<Record<string, unknown>>;

const whole = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.floor(value);

/**
 * Returns the `/stats/summary` response (`stats/v1alpha1`).
 *
 * @param onlyCpuAndMemory leave out file systems, network and so on
 * @param measured further measurements; absent: only `usage` is reported
 */
export function statsSummary(
  nodeName: string,
  { node, pods }: Usage,
  onlyCpuAndMemory: boolean,
  measured?: UsageDetails,
): Members {
  const details = measured && toTheSecond(measured);
  const own = { nodeName, startTime: rfc3339(node.bootedAt), ...nodeStats(node, onlyCpuAndMemory) };
  const ofPods = new Map((details?.pods ?? []).map((one) => [one.podRef.uid, one as Members]));
  return {
    node: merged(nodeDetails(details, node, onlyCpuAndMemory), own),
    pods: pods.map((pod) => {
      const stats = podStats(pod, node, onlyCpuAndMemory);
      const more = ofPods.get(pod.uid);
      return more ? withDetails(stats, more, node, onlyCpuAndMemory) : stats;
    }),
  };
}

/** Rounds times to seconds, as in the Summary API. */
const toTheSecond = (details: UsageDetails): UsageDetails =>
  JSON.parse(JSON.stringify(details).replace(/("time":"[^".]*)\.\d+Z"/g, '$1Z"')) as UsageDetails;

/** Members that are left out with `only_cpu_and_memory`. */
const leftOut = new Set([
  'volume',
  'ephemeral-storage',
  'process_stats',
  'swap',
  'io',
  'runtime',
  'rlimit',
  'fs',
  'network',
  'rootfs',
  'logs',
]);

const only = (members: Members, onlyCpuAndMemory: boolean): Members =>
  onlyCpuAndMemory
    ? Object.fromEntries(Object.entries(members).filter(([name]) => !leftOut.has(name)))
    : members;

function nodeDetails(
  details: UsageDetails | undefined,
  { bootedAt }: NodeUsage,
  onlyCpuAndMemory: boolean,
): Members {
  const { systemContainers, ...rest } = (details?.node ?? {}) as Members;
  const list = (Array.isArray(systemContainers) ? systemContainers : []) as readonly Members[];
  return {
    ...only(rest, onlyCpuAndMemory),
    ...(list.length > 0 && {
      systemContainers: list.map(({ name, ...used }) => ({
        name,
        startTime: rfc3339(bootedAt),
        ...only(used, onlyCpuAndMemory),
      })),
    }),
  };
}

/** Merges the measurements of a pod's cgroup; they override the sum of its containers. */
function withDetails(stats: Members, more: Members, node: NodeUsage, onlyCpuAndMemory: boolean): Members {
  const { containers, podRef: _, ...own } = more;
  const byName = new Map(((containers ?? []) as readonly Members[]).map((one) => [one['name'], one]));
  const at = rfc3339(node.at);
  const onNode = (part: unknown): unknown => (part && node.fs ? merged(fsStats(at, node.fs), part) : part);
  const storage = own['ephemeral-storage'];
  return {
    ...merged(stats, only(own, onlyCpuAndMemory)),
    ...(!onlyCpuAndMemory && storage ? { 'ephemeral-storage': onNode(storage) } : {}),
    containers: (stats['containers'] as readonly Members[]).map((one) => {
      const { logs, ...used } = byName.get(one['name']) ?? {};
      const all = merged(one, only(used, onlyCpuAndMemory));
      return logs && !onlyCpuAndMemory ? { ...all, logs: onNode(logs) } : all;
    }),
  };
}

/** Merges two objects recursively; the second takes precedence. */
function merged(first: Members, second: unknown): Members {
  const out: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(second as Members)) {
    const before = out[name];
    if (isMembers(before) && isMembers(value)) out[name] = merged(before, value);
    else if (value !== undefined && value !== null) out[name] = value;
  }
  return out;
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function nodeStats(node: NodeUsage, onlyCpuAndMemory: boolean): Members {
  const at = rfc3339(node.at);
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
  return {
    ...basic,
    ...(node.interfaces.length > 0 && { network: networkStats(at, node.interfaces) }),
    ...(node.fs && { fs: fsStats(at, node.fs) }),
    ...(node.mostProcesses !== undefined && {
      rlimit: { time: at, maxpid: node.mostProcesses, curproc: node.processes },
    }),
    swap: { time: at, swapAvailableBytes: node.swapFreeBytes, swapUsageBytes: node.swapUsedBytes },
  };
}

/** Returns network statistics; the default interface is `eth0`, if present (kubelet `cadvisorInfoToNetworkStats`). */
export const networkStats = (time: string, interfaces: readonly InterfaceUsage[]): Members => ({
  time,
  ...(interfaces.find(({ name }) => name === 'eth0') ?? { name: '' }),
  interfaces,
});

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
  const at = rfc3339(node.at);
  return {
    podRef: { name, namespace, uid },
    startTime: rfc3339(pod.startedAt ?? Math.min(...containers.map(({ startedAt, at }) => startedAt ?? at))),
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
  const at = rfc3339(one.at);
  const { rootfsBytes, rootfsInodes } = one;
  return {
    name: one.name,
    startTime: rfc3339(one.startedAt ?? one.at),
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
