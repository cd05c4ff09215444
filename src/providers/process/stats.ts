import type { ContainerStats, PodSandboxStats } from '../../provider/cri-messages.ts';
import { listProcesses, residentBytes, type ProcStat } from '../../processes/proc.ts';
import type { ProcessContainer } from './process-container.ts';
import type { SandboxRecord } from './record.ts';

/** Linux reports process times in 1/100 s on every architecture that Node.js runs on. */
const nanosPerTick = 1e7;

/** StatsReader sums the usage of a container's processes; its counters never decrease when processes exit. */
export class StatsReader {
  readonly #lastTicks = new Map<string, number>();
  readonly #now: () => number;

  /** @param now ms since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the stats of running containers; reads the process table once. */
  read(containers: readonly ProcessContainer[]): readonly ContainerStats[] {
    const byLeader = new Map<number, ProcStat[]>();
    for (const process of listProcesses()) {
      for (const leader of new Set([process.processGroup, process.session])) {
        const group = byLeader.get(leader);
        if (group) group.push(process);
        else byLeader.set(leader, [process]);
      }
    }
    return containers
      .filter(({ state }) => state === 'running')
      .map((container) => this.#stats(container, byLeader.get(container.pid ?? -1) ?? []));
  }

  forget(id: string): void {
    this.#lastTicks.delete(id);
  }

  #stats(container: ProcessContainer, processes: readonly ProcStat[]): ContainerStats {
    const { id, config } = container.record;
    const sum = processes.reduce((total, { cpuTicks }) => total + cpuTicks, 0);
    const ticks = Math.max(sum, this.#lastTicks.get(id) ?? 0);
    this.#lastTicks.set(id, ticks);
    const rss = processes.reduce((total, { pid }) => total + residentBytes(pid), 0);
    const timestamp = this.#now() * 1e6;
    return {
      attributes: {
        id,
        metadata: config.metadata ?? {},
        labels: config.labels ?? {},
        annotations: config.annotations ?? {},
      },
      cpu: { timestamp, usageCoreNanoSeconds: { value: ticks * nanosPerTick } },
      memory: {
        timestamp,
        workingSetBytes: { value: rss },
        usageBytes: { value: rss },
        rssBytes: { value: rss },
      },
    };
  }
}

/** Returns the usage of a pod: the sum of its containers'. */
export function sandboxStats(record: SandboxRecord, containers: readonly ContainerStats[]): PodSandboxStats {
  const timestamp = containers[0]?.cpu?.timestamp ?? 0;
  const sum = (pick: (stats: ContainerStats) => number | undefined): { readonly value: number } => ({
    value: containers.reduce((total, stats) => total + (pick(stats) ?? 0), 0),
  });
  return {
    attributes: {
      id: record.id,
      metadata: record.config.metadata ?? {},
      labels: record.config.labels ?? {},
      annotations: record.config.annotations ?? {},
    },
    linux: {
      cpu: { timestamp, usageCoreNanoSeconds: sum((stats) => stats.cpu?.usageCoreNanoSeconds?.value) },
      memory: {
        timestamp,
        workingSetBytes: sum((stats) => stats.memory?.workingSetBytes?.value),
        usageBytes: sum((stats) => stats.memory?.usageBytes?.value),
        rssBytes: sum((stats) => stats.memory?.rssBytes?.value),
      },
      containers,
    },
  };
}
