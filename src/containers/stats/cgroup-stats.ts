import type { Clock } from '../../base/clock.ts';
import { type CgroupName, podCgroup } from '../../kube/cgroup.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { CgroupHost } from '../cm/host.ts';
import type { SystemCgroup } from '../cm/system.ts';
import type { CgroupTree } from '../cm/tree.ts';
import { CpuRates } from './machine-usage.ts';
import {
  type CgroupUsage,
  machineMemoryOf,
  type MemoryUsage,
  type Pressure,
  type PressureKind,
  usageOf,
} from '../cm/usage.ts';

/** CPU usage in `/stats/summary`. */
export interface CpuStats {
  /** RFC 3339 */
  readonly time: string;
  /** Absent before the second reading. */
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds: number;
  readonly psi?: Pressure;
}

/** Memory usage in `/stats/summary`, bytes. */
export interface MemoryStats {
  /** RFC 3339 */
  readonly time: string;
  /** Memory left below the limit; absent without a limit. */
  readonly availableBytes?: number;
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly psi?: Pressure;
}

/** Usage of one cgroup in `/stats/summary`; absent members could not be read. */
export interface UsageStats {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: { readonly time: string; readonly swapUsageBytes: number };
  readonly io?: { readonly time: string; readonly psi: Pressure };
}

export interface ContainerUsage extends UsageStats {
  readonly name: string;
}

export interface PodUsage extends UsageStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers: readonly ContainerUsage[];
  readonly process_stats?: { readonly process_count: number };
  /** A process of the pod's sandbox; its network namespace is the pod's. */
  readonly sandboxPid?: number;
}

/** CPU and memory of node and pods, in the form of the Summary API, without file systems and networks. */
export interface CgroupSummary {
  readonly node: UsageStats & { readonly systemContainers: readonly ContainerUsage[] };
  readonly pods: readonly PodUsage[];
}

/** A pod to measure. */
export interface StatsTarget {
  readonly pod: Pod;
  /** Running containers by name with the runtime's own ids; empty: containers and sandbox are not measured. */
  readonly containerIds: ReadonlyMap<string, string>;
}

export interface CgroupStatsDeps {
  readonly tree: CgroupTree;
  readonly version: CgroupHost['version'];
  /** The cgroup of all pods. */
  readonly kubepods: CgroupName;
  readonly clock: Pick<Clock, 'now'>;
  /** The node's own cgroups, and a tree with literal names; absent: none. */
  readonly system?: { readonly tree: CgroupTree; readonly cgroups: readonly SystemCgroup[] };
  /** Returns the text of `/proc/meminfo`; absent or unreadable: the node's memory is read from the root cgroup only. */
  readonly meminfo?: () => string | undefined;
}

/** CgroupStats measures pods and containers by their cgroups, as the kubelet does with cAdvisor. */
export class CgroupStats {
  readonly #deps: CgroupStatsDeps;
  readonly #rates = new CpuRates();

  constructor(deps: CgroupStatsDeps) {
    this.#deps = deps;
  }

  /** Reads all targets; counters of pods that are not among them are dropped. */
  collect(targets: readonly StatsTarget[]): CgroupSummary {
    const pass = new Pass(this.#deps, this.#rates);
    const { system } = this.#deps;
    const ofNode = (system?.cgroups ?? []).map(({ name, cgroup }) => ({
      name,
      ...pass.stats(cgroup, system?.tree),
    }));
    const found = ofNode.filter(({ cpu, memory }) => cpu ?? memory);
    const pods = { name: 'pods', ...pass.stats(this.#deps.kubepods) };
    const summary = {
      node: { ...pass.node(), systemContainers: [pods, ...found] },
      pods: targets.map((target) => pass.pod(target)),
    };
    this.#rates.keepOnly(pass.measured);
    return summary;
  }
}

/** One round of readings with the same time stamp. */
class Pass {
  /** Keys whose rates were computed in this round. */
  readonly measured = new Set<string>();
  readonly #deps: CgroupStatsDeps;
  readonly #rates: CpuRates;
  readonly #nowMs: number;
  readonly #time: string;

  constructor(deps: CgroupStatsDeps, rates: CpuRates) {
    this.#deps = deps;
    this.#rates = rates;
    this.#nowMs = deps.clock.now();
    this.#time = new Date(this.#nowMs).toISOString();
  }

  node(): UsageStats {
    const usage = this.#usage([]);
    const stat = this.#deps.tree.read([], 'memory', 'memory.stat');
    const memory = machineMemoryOf(this.#deps.meminfo?.() ?? '', stat);
    const own = usage.memory ?? memory;
    const limitBytes = memory?.limitBytes;
    return this.#shown('', {
      ...usage,
      ...(own && { memory: { ...own, ...(limitBytes !== undefined && { limitBytes }) } }),
    });
  }

  stats(name: CgroupName, tree = this.#deps.tree): UsageStats {
    return this.#shown(tree.path(name), this.#usage(name, tree));
  }

  pod({ pod, containerIds }: StatsTarget): PodUsage {
    const name = podCgroup(this.#deps.kubepods, pod);
    const usage = this.#usage(name);
    const folders = this.#deps.tree.folders(name, 'memory');
    const ids = new Map([...containerIds.values()].map((id) => [id, id]));
    const folderById = new Map(
      folders.toReversed().map((folder) => [containerOfCgroup(folder, ids), folder]),
    );
    const sandbox = ids.size > 0 && folderById.get(undefined);
    const sandboxPid = sandbox && this.#firstPid(name, sandbox);
    return {
      podRef: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
      ...this.#shown(this.#deps.tree.path(name), usage),
      containers: [...containerIds].map(([container, id]) => {
        const folder = folderById.get(id);
        return { name: container, ...(folder !== undefined && this.#container(name, folder)) };
      }),
      ...(usage.processes !== undefined && { process_stats: { process_count: usage.processes } }),
      ...(sandboxPid && { sandboxPid }),
    };
  }

  #firstPid(pod: CgroupName, folder: string): number {
    return Number.parseInt(this.#deps.tree.read(pod, 'memory', `${folder}/cgroup.procs`) ?? '0', 10);
  }

  #container(pod: CgroupName, folder: string): UsageStats {
    const { tree, version } = this.#deps;
    const usage = usageOf((controller, file) => tree.read(pod, controller, `${folder}/${file}`), version);
    return this.#shown(`${tree.path(pod)}/${folder}`, usage);
  }

  #usage(name: CgroupName, tree = this.#deps.tree): CgroupUsage {
    const { version } = this.#deps;
    return usageOf((controller, file) => tree.read(name, controller, file), version);
  }

  #shown(key: string, { cpuNanos, memory, swapBytes, pressure = {} }: CgroupUsage): UsageStats {
    const time = this.#time;
    const psi = (kind: PressureKind): { readonly psi?: Pressure } =>
      pressure[kind] ? { psi: pressure[kind] } : {};
    return {
      ...(cpuNanos !== undefined && { cpu: { ...this.#cpu(key, cpuNanos), ...psi('cpu') } }),
      ...(memory && { memory: { time, ...shownMemory(memory), ...psi('memory') } }),
      ...(swapBytes !== undefined && { swap: { time, swapUsageBytes: swapBytes } }),
      ...(pressure.io && { io: { time, psi: pressure.io } }),
    };
  }

  #cpu(key: string, cpuNanos: number): CpuStats {
    this.measured.add(key);
    const rate = this.#rates.rate(key, cpuNanos, this.#nowMs);
    return {
      time: this.#time,
      ...(rate !== undefined && { usageNanoCores: Math.round(rate) }),
      usageCoreNanoSeconds: cpuNanos,
    };
  }
}

function shownMemory({ limitBytes, ...memory }: MemoryUsage): Omit<MemoryStats, 'time'> {
  if (limitBytes === undefined) return memory;
  return { availableBytes: Math.max(0, limitBytes - memory.workingSetBytes), ...memory };
}

/** Returns the runtime's own id of a container ID. */
export const bareId = (id: string): string => id.replace(/^[^:]*:\/\//, '');

/**
 * Returns the value of the container that a cgroup belongs to: runtimes name it by the container's id, some with a prefix, and systemd with
 * the suffix `.scope`. `undefined` for other cgroups.
 *
 * @param byId values by the runtime's own ids
 */
export function containerOfCgroup<T>(folder: string, byId: ReadonlyMap<string, T>): T | undefined {
  let id = folder.replace(/\.scope$/, '');
  for (;;) {
    const found = byId.get(id);
    const dash = id.indexOf('-');
    if (found !== undefined || dash < 0) return found;
    id = id.slice(dash + 1);
  }
}
