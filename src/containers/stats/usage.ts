import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import type { CgroupReading } from './cgroup-metrics.ts';

/** Usage of the whole node. Bytes, nanoseconds; times in ms since the epoch. */
export interface NodeUsage {
  readonly at: number;
  readonly bootedAt: number;
  readonly cpuNanos: number;
  readonly cpuNanoCores?: number;
  readonly memoryTotalBytes: number;
  readonly memoryAvailableBytes: number;
  readonly memoryUsedBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly swapUsedBytes: number;
  readonly swapFreeBytes: number;
  readonly fs?: FsUsage;
  readonly interfaces: readonly InterfaceUsage[];
  readonly machine?: MachineIds;
  readonly processes?: number;
  readonly mostProcesses?: number;
}

/** Identifiers of this machine. */
export interface MachineIds {
  readonly bootId: string;
  readonly machineId: string;
  readonly systemUuid: string;
}

export interface FsUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxErrors: number;
  readonly txBytes: number;
  readonly txErrors: number;
}

/** A container's usage with members of its status. */
export interface ServedContainerUsage extends ContainerUsage {
  readonly image?: string;
}

/** A pod's usage with members of its status. */
export interface ServedPodUsage extends PodUsage {
  readonly containers: readonly ServedContainerUsage[];
  /** ms since the epoch */
  readonly startedAt?: number;
}

/** Usage of node and pods at one time. */
export interface Usage {
  readonly node: NodeUsage;
  readonly pods: readonly ServedPodUsage[];
  /** Further measurements; only for `/stats/summary`. */
  readonly details?: () => Promise<UsageDetails>;
  /** Measurements of cgroups; only for `/metrics/cadvisor`. */
  readonly cgroups?: () => Promise<readonly CgroupReading[]>;
}

/** Parts of `/stats/summary` in its own format: cgroups, volumes, local storage, the runtime's file systems. */
export interface UsageDetails {
  readonly node: object;
  readonly pods?:
    | readonly {
        readonly podRef: { readonly uid: string };
        readonly containers?: readonly { readonly name: string }[] | null;
      }[]
    | null;
}

type Sum = Pick<
  PodUsage['containers'][number],
  'cpuNanos' | 'cpuNanoCores' | 'workingSetBytes' | 'memoryBytes' | 'rssBytes' | 'swapBytes'
>;

/** Returns the sum of the usage of a pod's containers; a member that no container reports is absent. */
export function sumOf({ containers }: PodUsage): Sum {
  const sum = (key: keyof Sum): number | undefined => {
    const values = containers.flatMap((one) => one[key] ?? []);
    return values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0);
  };
  const keys: readonly (keyof Sum)[] = [
    'cpuNanos',
    'cpuNanoCores',
    'workingSetBytes',
    'memoryBytes',
    'rssBytes',
    'swapBytes',
  ];
  return Object.fromEntries(keys.flatMap((key) => (sum(key) === undefined ? [] : [[key, sum(key)]])));
}
