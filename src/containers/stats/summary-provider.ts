import { stat } from 'node:fs/promises';
import { messageOf } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type {
  ContainerStats,
  FsStats,
  NodeStats,
  PodStats,
  StatsSummary,
  FileSystemLayout,
} from '../../kube/stats-summary.ts';
import type { Pod } from '../../kube/types.ts';
import { containerLogsDirectory } from '../paths/log-paths.ts';
import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import { networkStats } from './stats-summary.ts';
import { type InterfaceUsage, type NodeUsage, sumOf } from './usage.ts';
import { layout } from '../paths/layout.ts';
import { bareId, type CgroupStats, type CgroupSummary } from './cgroup-stats.ts';
import type { MeasureDisk } from './disk-usage.ts';
import type { RuntimeFileSystem, RuntimeFileSystems } from './runtime-file-systems.ts';
import type { VolumeUsage, VolumeUse } from './volume-usage.ts';

export interface NodeSummaryDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** Returns the usage of the whole machine; its file system is that of {@link rootDir}. */
  readonly machine: () => Promise<NodeUsage>;
  /** Returns the usage of running containers, by pod. */
  readonly listUsage: (signal?: AbortSignal) => Promise<readonly PodUsage[]>;
  readonly podByUid: (uid: string) => Pod | undefined;
  readonly volumes: VolumeUsage;
  readonly measure: MeasureDisk;
  readonly rootDir: string;
  /** Measures memory of node and pods; absent: the machine's usage and the sum of the containers' are used. */
  readonly cgroups?: Pick<CgroupStats, 'collect'>;
  /** Returns the network interfaces that a process sees; absent: pod networks are not reported. */
  readonly interfaces?: (pid: number) => readonly InterfaceUsage[];
  /** File systems of the runtime; absent: images are on the node's file system. */
  readonly fileSystems?: (signal?: AbortSignal) => Promise<RuntimeFileSystems>;
  /** Directory of pod logs; absent: logs are not counted. */
  readonly podLogsDir?: string;
}

/**
 * NodeSummary measures the usage of node and pods for eviction. Pods without running containers are left out.
 *
 * Follows kubelet `criStatsProvider` and its `ListPodStatsAndUpdateCPUNanoCoreUsage`.
 */
export class NodeSummary {
  readonly #deps: NodeSummaryDeps;

  constructor(deps: NodeSummaryDeps) {
    this.#deps = deps;
  }

  /** Measures everything except volumes, which are measured in the background. */
  async get(signal?: AbortSignal): Promise<StatsSummary> {
    const { machine, listUsage } = this.#deps;
    const [node, usage] = await Promise.all([machine(), listUsage(signal)]);
    return this.#summary(node, usage, false, signal);
  }

  /** Like {@link get} from existing measurements, with each container's cgroup and each pod's network, which eviction does not need. */
  of(node: NodeUsage, usage: readonly PodUsage[], signal?: AbortSignal): Promise<StatsSummary> {
    return this.#summary(node, usage, true, signal);
  }

  async #summary(
    node: NodeUsage,
    usage: readonly PodUsage[],
    inside: boolean,
    signal: AbortSignal | undefined,
  ): Promise<StatsSummary> {
    const { fileSystems, podByUid, volumes } = this.#deps;
    const runtime = await fileSystems?.(signal);
    const pods = usage.flatMap((one) => {
      const pod = podByUid(one.uid);
      return pod ? [{ pod, usage: one }] : [];
    });
    const found = pods.map(({ pod }) => pod);
    const measured = this.#deps.cgroups?.collect(
      pods.map(({ pod, usage: { containers } }) => ({
        pod,
        containerIds: new Map(inside ? containers.map(({ name, id }) => [name, bareId(id)]) : []),
      })),
    );
    const inVolumes = volumes.of(found, signal);
    return {
      node: nodeStats(node, runtime, measured?.node),
      pods: await Promise.all(
        pods.map((one, index) =>
          this.#podStats(one, inVolumes.get(one.usage.uid) ?? [], measured?.pods[index], signal),
        ),
      ),
    };
  }

  /** Returns the last measured usage of pods' volumes. */
  get volumes(): readonly VolumeUse[] {
    return this.#deps.volumes.latest;
  }

  async layout(): Promise<FileSystemLayout> {
    const { fileSystems, rootDir } = this.#deps;
    if (!fileSystems) return { dedicatedImageFs: false, splitContainerFs: false };
    const [{ images, containers }, { dev }] = await Promise.all([fileSystems(), stat(rootDir)]);
    return {
      dedicatedImageFs: images.device !== dev,
      splitContainerFs: images.mountpoint !== containers.mountpoint,
    };
  }

  async #podStats(
    { pod, usage }: PodWithUsage,
    inVolumes: readonly VolumeUse[],
    measured: MeasuredPod | undefined,
    signal: AbortSignal | undefined,
  ): Promise<PodStats> {
    const time = timeOf(this.#deps.clock.now());
    const cgroups = new Map((measured?.containers ?? []).map(({ name, ...own }) => [name, own]));
    const containers = await Promise.all(
      usage.containers.map(async (one) => ({
        ...(await this.#containerStats(pod, one, time, signal)),
        ...cgroups.get(one.name),
      })),
    );
    const hosts = await this.#used(layout.etcHosts(this.#deps.rootDir, usage.uid), time, signal);
    const volume = inVolumes.map(({ name, usedBytes, inodesUsed, fs, claim }) => ({
      name,
      time,
      ...fs,
      usedBytes,
      inodesUsed,
      ...(claim && { pvcRef: claim }),
    }));
    const ephemeral = inVolumes.filter((one) => one.ephemeral);
    return {
      podRef: { name: usage.name, namespace: usage.namespace, uid: usage.uid },
      containers,
      ...podUse(usage, measured, time),
      ...this.#network(measured, time),
      volume,
      'ephemeral-storage': {
        time,
        ...sumOfDisk([...containers.flatMap(diskPartsOf), ...ephemeral, hosts ?? {}]),
      },
    };
  }

  #network(measured: MeasuredPod | undefined, time: string): object {
    const pid = measured?.sandboxPid;
    const interfaces = pid === undefined ? [] : (this.#deps.interfaces?.(pid) ?? []);
    return interfaces.length > 0 ? { network: networkStats(time, interfaces) } : {};
  }

  async #containerStats(
    pod: Pod,
    { name, workingSetBytes, rootfsBytes, rootfsInodes }: ContainerUsage,
    time: string,
    signal: AbortSignal | undefined,
  ): Promise<ContainerStats> {
    const { podLogsDir } = this.#deps;
    const logs =
      podLogsDir === undefined
        ? undefined
        : await this.#used(containerLogsDirectory(podLogsDir, pod, name), time, signal);
    return {
      name,
      ...(workingSetBytes !== undefined && { memory: { time, workingSetBytes } }),
      ...(rootfsBytes !== undefined && {
        rootfs: { time, usedBytes: rootfsBytes, inodesUsed: rootfsInodes },
      }),
      ...(logs && { logs }),
    };
  }

  /** Measures the disk usage of a path; `undefined` when it cannot be measured. */
  async #used(path: string, time: string, signal: AbortSignal | undefined): Promise<FsStats | undefined> {
    try {
      const used = await this.#deps.measure(path, signal);
      return used && { time, usedBytes: used.bytes, inodesUsed: used.inodes };
    } catch (reason) {
      this.#deps.logger.warn('a path was not measured', { path, err: messageOf(reason) });
      return undefined;
    }
  }
}

type MeasuredPod = CgroupSummary['pods'][number];

/** Returns the usage of the pod's cgroup, or the sum of its containers' memory. */
function podUse(
  usage: PodUsage,
  measured: MeasuredPod | undefined,
  time: string,
): Pick<PodStats, 'memory' | 'process_stats'> {
  const { workingSetBytes } = sumOf(usage);
  if (!measured?.memory && workingSetBytes !== undefined) return { memory: { time, workingSetBytes } };
  const { cpu, memory, swap, io, process_stats } = measured ?? {};
  const members = { cpu, memory, swap, io, process_stats };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

interface PodWithUsage {
  readonly pod: Pod;
  readonly usage: PodUsage;
}

/** Returns the disk usage of a container; logs count only where the writable layer is known (kubelet `addContainerUsage`). */
const diskPartsOf = ({ rootfs, logs }: ContainerStats): readonly FsStats[] =>
  rootfs ? [rootfs, ...(logs ? [logs] : [])] : [];

const sumOfDisk = (parts: readonly FsStats[]): Pick<FsStats, 'usedBytes' | 'inodesUsed'> => ({
  usedBytes: parts.reduce((sum, { usedBytes }) => sum + (usedBytes ?? 0), 0),
  inodesUsed: parts.reduce((sum, { inodesUsed }) => sum + (inodesUsed ?? 0), 0),
});

function nodeStats(
  node: NodeUsage,
  runtime: RuntimeFileSystems | undefined,
  measured: CgroupSummary['node'] | undefined,
): NodeStats {
  const time = timeOf(node.at);
  const { memoryAvailableBytes: availableBytes, workingSetBytes, fs, processes, mostProcesses } = node;
  return {
    memory: { time, availableBytes, workingSetBytes },
    ...(measured && cgroupStats(measured)),
    ...(fs && { fs: { time, ...fs, inodesUsed: fs.inodes - fs.inodesFree } }),
    ...(runtime && {
      runtime: { imageFs: fsStats(time, runtime.images), containerFs: fsStats(time, runtime.containers) },
    }),
    ...(processes !== undefined &&
      mostProcesses !== undefined && { rlimit: { time, maxpid: mostProcesses, curproc: processes } }),
  };
}

/** Returns the node statistics from cgroups; the CPU time comes from the machine. */
const cgroupStats = ({ cpu, memory, io, systemContainers }: CgroupSummary['node']): Partial<NodeStats> => ({
  ...(memory && { memory }),
  ...(cpu?.psi && { cpu: { psi: cpu.psi } }),
  ...(io && { io }),
  systemContainers,
});

const fsStats = (time: string, { mountpoint: _, device: __, ...amounts }: RuntimeFileSystem): FsStats => ({
  time,
  ...amounts,
});

/** Formats RFC 3339 with milliseconds, so that later summaries are distinguishable. */
const timeOf = (ms: number): string => new Date(ms).toISOString();
