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

/** The dependencies of {@link NodeProtection}. */
export interface NodeProtectionParts {
  readonly controller: {
    readonly engines: Pick<Engines, 'syncHandler' | 'podWorkers' | 'podManager' | 'provider'>;
  };
  /** The provider, only to see which methods it has; it is called through the controller's engines. */
  readonly provider: Pick<AgentProvider, 'listUsage'>;
  /** The provider's part in eviction; absent when it can reclaim nothing. */
  readonly upkeep?: Pick<Upkeep, 'reclaim' | 'fileSystems'> | undefined;
  /** The statistics of cgroups; absent when pods have no measurable cgroups. */
  readonly cgroupStats?: CgroupStats | undefined;
  /** The volumes with their own file system; absent when all are on the node's file system. */
  readonly volumes?: OwnFileSystems;
}

/** The events of {@link NodeProtection}. */
export interface NodeProtectionEvents {
  /** The node's readiness has changed, and its status should be written at once. */
  statusChanged: [];
}

/**
 * NodeProtection terminates pods that no user has deleted: under resource pressure (eviction), and when the machine shuts down (graceful
 * node shutdown). It acts only while it runs; admission and the node status may query it before.
 */
export class NodeProtection {
  readonly events: Emitter<NodeProtectionEvents> = new Emitter<NodeProtectionEvents>();
  /** The members of the pod host for admission. */
  readonly pods: Pick<PodHost, 'pressure' | 'isShuttingDown' | 'storageFault'> = {
    pressure: () => this.#evictions?.conditions() ?? [],
    storageFault: () => this.#storageFault?.(),
    isShuttingDown: () => this.#shutdown?.isShuttingDown ?? false,
  };
  /** The detailed usage of node and pods; `undefined` when the provider has no `listUsage`. */
  readonly summary: NodeSummary | undefined;
  readonly #evicted = new Counter(
    'kubelet_evictions',
    'Cumulative number of pod evictions by eviction signal',
  );
  readonly #statsAges = new Histogram(
    'kubelet_eviction_stats_age_seconds',
    'Duration in seconds from the measurement of a signal until a pod is evicted for it, by eviction signal',
  );
  /** The times of the last shutdown, ms since the epoch; 0 when there was none or it has not ended. */
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

  /** True while a pressure condition of the node holds. */
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
        'Start time of the last graceful shutdown in seconds since the Unix epoch',
        start / 1000,
      ),
      single(
        'kubelet_graceful_shutdown_end_time_seconds',
        'gauge',
        'End time of the last graceful shutdown in seconds since the Unix epoch',
        end / 1000,
      ),
    ];
    const claims = claimMetrics(this.summary?.volumes ?? []);
    return [this.#evicted.collect(), this.#statsAges.collect(), ...times, ...claims];
  }

  /** True once the pressure conditions are known, or when there is no eviction. */
  get knowsPressure(): boolean {
    return this.#evictions?.hasLooked ?? true;
  }

  /** The reason why the node is not ready during a shutdown. */
  shutdownFault(): string | undefined {
    return this.#shutdown?.fault();
  }

  /** Runs eviction and the shutdown watch until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#evictions?.run(signal), this.#shutdown?.run(signal)]);
  }

  /** Makes the eviction manager; none for a provider without `listUsage`. */
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
      enders.logger.warn('pods are not evicted: the provider does not report container usage');
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
