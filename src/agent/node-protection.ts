import { Emitter } from '../base/emitter.ts';
import type { EvictionManager } from '../eviction/manager.ts';
import type { ShutdownManager } from '../nodeshutdown/shutdown-manager.ts';
import { Counter, Histogram, single } from '../metrics/metrics.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import type { CgroupStats } from '../containers/stats/cgroup-stats.ts';
import { diskUsage } from '../containers/stats/disk-usage.ts';
import type { Engines } from '../pods/engines.ts';
import type { CommonParts } from './common-parts.ts';
import { type EndingParts, makeEvictions, makeShutdown } from './evictions.ts';
import { machineUsage } from '../containers/stats/machine-usage.ts';
import { NodeSummary } from '../containers/stats/summary-provider.ts';
import { kernelProcessFiles } from '../containers/cm/process-files.ts';
import type { PodHost } from '../pods/pod-host.ts';
import type { Upkeep } from './garbage-collection.ts';
import { claimMetrics } from './metrics/claim-metrics.ts';
import { type OwnFileSystems, VolumeUsage } from '../containers/stats/volume-usage.ts';
import { interfaceUsage } from '../containers/stats/interface-usage.ts';
import type { MetricFamily } from '../metrics/family.ts';

/** The subsystems that end pods, or help the node to do without that. */
export interface NodeProtectionParts {
  readonly controller: {
    readonly engines: Pick<Engines, 'syncHandler' | 'podWorkers' | 'podManager' | 'provider'>;
  };
  /** Only what it has: it is called through the controller's engines. */
  readonly provider: Pick<AgentProvider, 'listUsage'>;
  /** Absent: the provider has nothing that the node could give up before a pod. */
  readonly upkeep?: Pick<Upkeep, 'reclaim' | 'fileSystems'> | undefined;
  /** Absent: pods have no cgroups that can be measured. */
  readonly cgroupStats?: CgroupStats | undefined;
  /** Absent: all volumes are parts of the node's file system. */
  readonly volumes?: OwnFileSystems;
}

/** What {@link NodeProtection} emits. */
export interface NodeProtectionEvents {
  /** The node's readiness has changed: its status is to be written at once. */
  statusChanged: [];
}

/**
 * Ends pods that no user has deleted: those that the node can no longer afford (eviction), and all of them when the machine stops (graceful
 * node shutdown). It works once it runs; admission and the node's status may ask it before.
 */
export class NodeProtection {
  readonly events: Emitter<NodeProtectionEvents> = new Emitter<NodeProtectionEvents>();
  /** For the pods' admission. */
  readonly pods: Pick<PodHost, 'pressure' | 'isShuttingDown' | 'storageFault'> = {
    pressure: () => this.#evictions?.conditions() ?? [],
    storageFault: () => this.#storageFault?.(),
    isShuttingDown: () => this.#shutdown?.isShuttingDown ?? false,
  };
  /** What node and pods use in all detail; undefined when the provider does not say what its containers use. */
  readonly summary: NodeSummary | undefined;
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
  readonly #evictions: EvictionManager | undefined;
  readonly #shutdown: ShutdownManager | undefined;

  constructor(options: ProtectionOptions, common: ProtectionCommon, parts: NodeProtectionParts) {
    this.#storageFault = options.storageFault;
    this.summary = parts.provider.listUsage && summaryOf(options, common, parts);
    const enders = { ...common, nodeName: options.nodeName, engines: () => parts.controller.engines };
    this.#evictions = this.#makeEvictions(options, enders, parts);
    this.#shutdown = this.#makeShutdown(options, enders);
  }

  /** Whether a pressure condition of the node holds. */
  pressure(kind: 'memory' | 'disk' | 'pid'): boolean {
    return this.#evictions?.pressure(kind) ?? false;
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
    const claims = claimMetrics(this.summary?.volumes ?? []);
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

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#evictions?.run(signal), this.#shutdown?.run(signal)]);
  }

  /** A provider that does not say what its containers use has no evictions. */
  #makeEvictions(
    { eviction }: ProtectionOptions,
    enders: EndingParts,
    { upkeep }: NodeProtectionParts,
  ): EvictionManager | undefined {
    const { summary } = this;
    if (eviction && summary)
      return makeEvictions(
        {
          ...enders,
          summary,
          reclaim: upkeep?.reclaim ?? {},
          evicted: (eviction_signal) => {
            this.#evicted.add({ eviction_signal });
          },
          statsAge: (eviction_signal, ms) => {
            this.#statsAges.observe({ eviction_signal }, ms / 1000);
          },
        },
        eviction.settings,
      );
    if (eviction && eviction.settings.thresholds.length > 0)
      enders.logger.warn('no pod is evicted: the provider does not tell what containers use');
    return undefined;
  }

  #makeShutdown({ shutdown }: ProtectionOptions, enders: EndingParts): ShutdownManager | undefined {
    return (
      shutdown &&
      makeShutdown(
        {
          ...enders,
          source: shutdown.source,
          noted: (moment, at) => {
            this.#shutdownTimes =
              moment === 'start' ? { start: at, end: 0 } : { ...this.#shutdownTimes, end: at };
          },
          syncNodeStatus: () => {
            this.events.emit('statusChanged');
            return Promise.resolve();
          },
        },
        shutdown.windows,
      )
    );
  }
}

type ProtectionOptions = Pick<
  AgentOptions,
  'nodeName' | 'rootDir' | 'eviction' | 'shutdown' | 'storageFault'
>;
type ProtectionCommon = Pick<CommonParts, 'clock' | 'logger' | 'recorder'>;

function summaryOf(
  { rootDir, eviction }: ProtectionOptions,
  { clock, logger }: ProtectionCommon,
  { controller, upkeep, cgroupStats, volumes }: NodeProtectionParts,
): NodeSummary {
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
    listUsage: async (signal) => (await controller.engines.provider.listUsage?.(signal)) ?? [],
    podByUid: (uid) => controller.engines.podManager.getPodByUID(uid),
    volumes: new VolumeUsage(
      { ...disk, ...(volumes && { own: volumes }), ...(statFs && { statFs }) },
      volumeStatsPeriodMs ?? 60_000,
    ),
    ...(cgroupStats && { cgroups: cgroupStats }),
    interfaces: (pid) => interfaceUsage(kernelProcessFiles.read(`/proc/${pid}/net/dev`) ?? ''),
    ...(upkeep?.fileSystems && { fileSystems: upkeep.fileSystems }),
    ...(podLogsDir !== undefined && { podLogsDir }),
  });
}
