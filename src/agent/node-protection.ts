import type { Clock } from '../base/clock.ts';
import type { EvictionManager } from '../eviction/manager.ts';
import type { ShutdownManager } from '../nodeshutdown/shutdown-manager.ts';
import { Counter, Histogram, single } from '../metrics/metrics.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import type { CgroupStats } from '../containers/stats/cgroup-stats.ts';
import { diskUsage } from '../containers/stats/disk-usage.ts';
import type { Engines } from '../pods/engines.ts';
import { type EndingParts, hardThresholds, makeEvictions, makeShutdown } from './evictions.ts';
import { machineUsage } from '../containers/stats/machine-usage.ts';
import type { NodeSettings } from './node-setters.ts';
import { NodeSummary } from '../containers/stats/summary-provider.ts';
import { kernelProcessFiles } from '../containers/cm/process-files.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { Upkeep } from './garbage-collection.ts';
import { claimMetrics } from './metrics/claim-metrics.ts';
import { type OwnFileSystems, VolumeUsage } from '../containers/stats/volume-usage.ts';
import { interfaceUsage } from '../containers/stats/interface-usage.ts';
import type { MetricFamily } from '../metrics/family.ts';

/** What the endings of pods are made of. */
export interface EndingsParts extends EndingParts {
  readonly clock: Clock;
  readonly engines: () => Pick<Engines, 'syncHandler' | 'podWorkers' | 'podManager'>;
  readonly options: Pick<AgentOptions, 'eviction' | 'shutdown' | 'rootDir'>;
  readonly provider: Pick<AgentProvider, 'listUsage'>;
  readonly upkeep?: Pick<Upkeep, 'reclaim' | 'fileSystems'>;
  /** Absent: pods have no cgroups that can be measured. */
  readonly cgroupStats?: CgroupStats;
  /** Absent: all volumes are parts of the node's file system. */
  readonly podVolumes?: OwnFileSystems;
  readonly syncNodeStatus: () => Promise<void>;
}

/**
 * Who ends pods that nobody has deleted: the node when it is short of something, and its shutdown. Node and pods ask it from the
 * start; it is made last, of both.
 */
export class Endings {
  /** For admission. */
  readonly host: Pick<PodHost, 'pressure' | 'isShuttingDown' | 'storageFault'> = {
    pressure: () => this.#evictions?.conditions() ?? [],
    storageFault: () => this.#storageFault?.(),
    isShuttingDown: () => this.#shutdown?.isShuttingDown ?? false,
  };
  /** For the node's status. */
  readonly node: Pick<NodeSettings, 'hardEviction' | 'pressure'>;
  readonly #evicted = new Counter(
    'kubelet_evictions',
    'Cumulative number of pod evictions by eviction signal',
  );
  readonly #statsAges = new Histogram(
    'kubelet_eviction_stats_age_seconds',
    'Seconds from when something was measured until a pod is evicted for it, by eviction signal',
  );
  /** Of the last shutdown, ms since the epoch; 0: none, or not over. */
  #shutdownTimes = { start: 0, end: 0 };
  readonly #storageFault: AgentOptions['storageFault'];
  #evictions: EvictionManager | undefined;
  #shutdown: ShutdownManager | undefined;
  #summary: NodeSummary | undefined;

  constructor({ eviction, storageFault }: Pick<AgentOptions, 'eviction' | 'storageFault'>) {
    this.#storageFault = storageFault;
    this.node = {
      ...(eviction && { hardEviction: hardThresholds(eviction.settings.thresholds) }),
      pressure: (kind) => this.#evictions?.pressure(kind) ?? false,
    };
  }

  /** What node and pods use in all detail; absent: the provider does not tell what its containers use. */
  get summary(): NodeSummary | undefined {
    return this.#summary;
  }

  /** For `/metrics`. */
  collect(): readonly MetricFamily[] {
    const { start, end } = this.#shutdownTimes;
    const times = [
      single(
        'kubelet_graceful_shutdown_start_time_seconds',
        'gauge',
        'When the last graceful shutdown began, seconds since the Unix epoch',
        start / 1000,
      ),
      single(
        'kubelet_graceful_shutdown_end_time_seconds',
        'gauge',
        'When the pods of the last graceful shutdown had ended, seconds since the Unix epoch',
        end / 1000,
      ),
    ];
    const claims = claimMetrics(this.#summary?.volumes ?? []);
    return [this.#evicted.collect(), this.#statsAges.collect(), ...times, ...claims];
  }

  /** Whether it is known what the node is short of, or nobody will tell. */
  get knowsPressure(): boolean {
    return this.#evictions?.hasLooked ?? true;
  }

  /** What a shutdown has against the node being ready. */
  shutdownFault(): string | undefined {
    return this.#shutdown?.fault();
  }

  /** Makes what the options ask for; a provider that cannot tell what its containers use has no evictions. */
  make(parts: EndingsParts): void {
    const { eviction, shutdown } = parts.options;
    const { listUsage } = parts.provider;
    this.#summary = listUsage && summaryOf(parts, listUsage.bind(parts.provider));
    const evicted = (eviction_signal: string): void => {
      this.#evicted.add({ eviction_signal });
    };
    const statsAge = (eviction_signal: string, ms: number): void => {
      this.#statsAges.observe({ eviction_signal }, ms / 1000);
    };
    if (eviction && this.#summary)
      this.#evictions = makeEvictions(
        { ...parts, evicted, statsAge, summary: this.#summary, reclaim: parts.upkeep?.reclaim ?? {} },
        eviction.settings,
      );
    else if (eviction && eviction.settings.thresholds.length > 0)
      parts.logger.warn('no pod is evicted: the provider does not tell what containers use');
    const noted = (moment: 'start' | 'end', at: number): void => {
      this.#shutdownTimes = moment === 'start' ? { start: at, end: 0 } : { ...this.#shutdownTimes, end: at };
    };
    if (shutdown)
      this.#shutdown = makeShutdown({ ...parts, noted, source: shutdown.source }, shutdown.windows);
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#evictions?.run(signal), this.#shutdown?.run(signal)]);
  }
}

function summaryOf(parts: EndingsParts, listUsage: NonNullable<AgentProvider['listUsage']>): NodeSummary {
  const { clock, logger, engines, upkeep, cgroupStats, podVolumes } = parts;
  const { rootDir, eviction } = parts.options;
  const {
    machine = () => machineUsage(rootDir, clock),
    podLogsDir,
    volumeStatsPeriodMs,
    statFs,
  } = eviction ?? {};
  const disk = { clock, logger, rootDir, measure: eviction?.measure ?? diskUsage };
  return new NodeSummary({
    ...disk,
    machine,
    listUsage,
    podByUid: (uid) => engines().podManager.getPodByUID(uid),
    volumes: new VolumeUsage(
      { ...disk, ...(podVolumes && { own: podVolumes }), ...(statFs && { statFs }) },
      volumeStatsPeriodMs ?? 60_000,
    ),
    ...(cgroupStats && { cgroups: cgroupStats }),
    interfaces: (pid) => interfaceUsage(kernelProcessFiles.read(`/proc/${pid}/net/dev`) ?? ''),
    ...(upkeep?.fileSystems && { fileSystems: upkeep.fileSystems }),
    ...(podLogsDir !== undefined && { podLogsDir }),
  });
}
