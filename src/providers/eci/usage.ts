import type { Clock } from '../../base/clock.ts';
import { steadyNow } from '../../base/clock.ts';
import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import type { EciCalls } from './calls.ts';
import { instantOf } from './container-group.ts';
import type { ObservedGroup } from './convert-status.ts';

export interface UsageReaderDeps {
  readonly calls: EciCalls;
  readonly clock: Clock;
  readonly region: string;
}

/** How many groups one question for metrics names. */
const groupsAtOnce = 20;
/** The service measures no more often than this, ms. */
const freshForMs = 15_000;

interface Cpu {
  readonly UsageNanoCores?: number;
  readonly UsageCoreNanoSeconds?: number;
}
interface Memory {
  readonly UsageBytes?: number;
  readonly WorkingSet?: number;
  readonly Rss?: number;
}
interface Metric {
  readonly Timestamp?: string;
  readonly Containers?: readonly { readonly Name?: string; readonly CPU?: Cpu; readonly Memory?: Memory }[];
}
interface MonitorData {
  readonly ContainerGroupId?: string;
  readonly Records?: readonly Metric[];
}

/** UsageReader reads what containers use through `DescribeMultiContainerGroupMetric`, at most as often as the service measures. */
export class UsageReader {
  readonly #deps: UsageReaderDeps;
  #last: { readonly at: number; readonly records: ReadonlyMap<string, Metric> } | undefined;

  constructor(deps: UsageReaderDeps) {
    this.#deps = deps;
  }

  /** What the running containers of these groups use. @throws {EciError} what the service answered */
  async read(groups: readonly ObservedGroup[], signal: AbortSignal): Promise<readonly PodUsage[]> {
    const { clock } = this.#deps;
    const now = steadyNow(clock);
    if (!this.#last || now - this.#last.at >= freshForMs)
      this.#last = { at: now, records: await this.#ask(groups, signal) };
    const { records } = this.#last;
    return groups.flatMap((observed) => {
      const metric = records.get(observed.group.ContainerGroupId);
      return metric ? [usageOf(observed, metric, clock.now())] : [];
    });
  }

  async #ask(groups: readonly ObservedGroup[], signal: AbortSignal): Promise<ReadonlyMap<string, Metric>> {
    const { calls, region } = this.#deps;
    const ids = groups.map(({ group }) => group.ContainerGroupId);
    const records = new Map<string, Metric>();
    for (let at = 0; at < ids.length; at += groupsAtOnce) {
      const ContainerGroupIds = JSON.stringify(ids.slice(at, at + groupsAtOnce));
      const answer = await calls.call(
        'DescribeMultiContainerGroupMetric',
        { RegionId: region, ContainerGroupIds },
        signal,
      );
      for (const { ContainerGroupId, Records = [] } of (answer['MonitorDatas'] ??
        []) as readonly MonitorData[]) {
        const newest = Records.at(-1);
        if (ContainerGroupId !== undefined && newest) records.set(ContainerGroupId, newest);
      }
    }
    return records;
  }
}

function usageOf({ identity, group }: ObservedGroup, metric: Metric, now: number): PodUsage {
  const at = instantOf(metric.Timestamp) ?? now;
  const containers = (metric.Containers ?? []).map(({ Name = '', CPU = {}, Memory = {} }): ContainerUsage => {
    const restarts = group.Containers?.find((one) => one.Name === Name)?.RestartCount ?? 0;
    return {
      id: `eci://${group.ContainerGroupId}/${Name}#${String(restarts)}`,
      name: Name,
      at,
      ...(CPU.UsageNanoCores !== undefined && { cpuNanoCores: CPU.UsageNanoCores }),
      ...(CPU.UsageCoreNanoSeconds !== undefined && { cpuNanos: CPU.UsageCoreNanoSeconds }),
      ...(Memory.WorkingSet !== undefined && { workingSetBytes: Memory.WorkingSet }),
      ...(Memory.UsageBytes !== undefined && { memoryBytes: Memory.UsageBytes }),
      ...(Memory.Rss !== undefined && { rssBytes: Memory.Rss }),
    };
  });
  return { ...identity, containers };
}
