import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import type { ContainerStats, ContainerStatsFilter, SwapUsage } from '../../provider/cri-messages.ts';
import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import { containerId } from './config/convert.ts';
import { containerNameLabel, podNameLabel, podNamespaceLabel, podUidLabel } from './config/labels.ts';

/** Returns the resource usage of running containers by pod, from the runtime; empty when the runtime does not report it. */
export async function podUsage(
  runtime: Pick<ContainerRuntime, 'listContainerStats'>,
  runtimeName: string,
  filter?: ContainerStatsFilter,
): Promise<readonly PodUsage[]> {
  if (!runtime.listContainerStats) return [];
  const { stats = [] } = await runtime.listContainerStats(filter ? { filter } : {});
  const pods = new Map<string, { name: string; namespace: string; containers: ContainerUsage[] }>();
  for (const one of stats.filter(isRunning)) {
    const labels = one.attributes?.labels ?? {};
    const uid = labels[podUidLabel];
    if (uid === undefined) continue;
    const pod = pods.get(uid) ?? {
      name: labels[podNameLabel] ?? '',
      namespace: labels[podNamespaceLabel] ?? '',
      containers: [],
    };
    pod.containers.push(usageOf(one, labels[containerNameLabel] ?? '', runtimeName));
    pods.set(uid, pod);
  }
  return [...pods].map(([uid, pod]) => ({ uid, ...pod }));
}

/** True for running containers: containerd 2 also lists exited ones, with file system usage only (kubelet `removeTerminatedContainers`). */
const isRunning = ({ cpu, memory }: ContainerStats): boolean =>
  (cpu?.usageCoreNanoSeconds ?? memory?.workingSetBytes ?? memory?.usageBytes) !== undefined;

type Amount = Exclude<keyof ContainerUsage, 'id' | 'name' | 'at' | 'startedAt'>;

/** Swap usage of runtimes that do not report it, such as containerd before 2.1: none (kubelet `makeContainerStats`). */
const noSwap: SwapUsage = { swapUsageBytes: { value: 0 }, swapAvailableBytes: { value: 0 } };

/** Reads each amount from the CRI statistics. */
const amounts: Readonly<Record<Amount, (stats: ContainerStats) => { readonly value?: number } | undefined>> =
  {
    cpuNanos: ({ cpu }) => cpu?.usageCoreNanoSeconds,
    cpuNanoCores: ({ cpu }) => cpu?.usageNanoCores,
    workingSetBytes: ({ memory }) => memory?.workingSetBytes,
    memoryBytes: ({ memory }) => memory?.usageBytes,
    rssBytes: ({ memory }) => memory?.rssBytes,
    pageFaults: ({ memory }) => memory?.pageFaults,
    majorPageFaults: ({ memory }) => memory?.majorPageFaults,
    swapBytes: ({ swap = noSwap }) => swap.swapUsageBytes,
    swapAvailableBytes: ({ swap = noSwap }) => swap.swapAvailableBytes,
    rootfsBytes: ({ writableLayer }) => writableLayer?.usedBytes,
    rootfsInodes: ({ writableLayer }) => writableLayer?.inodesUsed,
  };

function usageOf(stats: ContainerStats, name: string, runtimeName: string): ContainerUsage {
  const reported = Object.entries(amounts).flatMap(([key, find]) => {
    const value = find(stats)?.value;
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    id: containerId(runtimeName, stats.attributes?.id ?? ''),
    name,
    at: (stats.cpu?.timestamp ?? 0) / 1e6,
    ...(Object.fromEntries(reported) as Partial<Record<Amount, number>>),
  };
}
