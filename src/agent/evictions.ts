import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type EvictionDeps, EvictionManager, type EvictionSettings } from '../eviction/manager.ts';
import { isHardThreshold, parseThresholds, type Threshold } from '../eviction/thresholds.ts';
import { durationMs } from '../kube/duration.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/types.ts';
import { formatQuantity } from '../kube/resources/quantity.ts';
import type { HardThreshold } from '../containers/cm/allocatable.ts';
import { type LogindDeps, type LogindSettings, LogindShutdown } from '../nodeshutdown/logind.ts';
import { type ShutdownDeps, ShutdownManager, type ShutdownSource } from '../nodeshutdown/shutdown-manager.ts';
import { type ShutdownWindow, shutdownWindows } from '../nodeshutdown/shutdown.ts';
import type { KubeletConfiguration } from '../options/kubelet/kubelet-configuration.ts';
import type { FsUsage, NodeUsage } from '../containers/stats/usage.ts';
import { type KillPodDeps, killPodNow } from '../podworkers/kill-pod.ts';
import type { MeasureDisk } from '../containers/stats/disk-usage.ts';
import type { Engines } from '../pods/engines.ts';

/** How an agent evicts pods. */
export interface EvictionOptions {
  readonly settings: EvictionSettings;
  /** Between two measurements of a pod's volumes, ms; 0: they are not measured (kubelet `volumeStatsAggPeriod`). */
  readonly volumeStatsPeriodMs: number;
  /** Where container logs lie; absent: they count nothing. */
  readonly podLogsDir?: string;
  /** What the whole machine uses; default: what this one does. */
  readonly machine?: () => Promise<NodeUsage>;
  /** What a path takes on disk; default: what is found there. */
  readonly measure?: MeasureDisk;
  /** How full the file system of a path is; default: what the kernel says. */
  readonly statFs?: (path: string) => Promise<FsUsage | undefined>;
}

/** How an agent ends its pods when the machine stops. */
export interface ShutdownOptions {
  readonly source: ShutdownSource;
  readonly windows: readonly ShutdownWindow[];
}

/** The kubelet's own thresholds on Linux, for a node that is told none. */
const defaultEvictionHard: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** Settings that say no hard thresholds get the kubelet's; those that say some get the others of them only when asked to. */
export const withDefaultThresholds = <
  T extends Pick<KubeletConfiguration, 'evictionHard' | 'mergeDefaultEvictionSettings'>,
>(
  config: T,
): T & { readonly evictionHard: Readonly<Record<string, string>> } => ({
  ...config,
  evictionHard:
    config.evictionHard === undefined || config.mergeDefaultEvictionSettings
      ? { ...defaultEvictionHard, ...config.evictionHard }
      : config.evictionHard,
});

/** The settings that eviction goes by. */
export type EvictionConfiguration = Pick<
  KubeletConfiguration,
  | 'enforceNodeAllocatable'
  | 'evictionHard'
  | 'evictionSoft'
  | 'evictionSoftGracePeriod'
  | 'evictionMinimumReclaim'
  | 'evictionPressureTransitionPeriod'
  | 'evictionMaxPodGracePeriod'
  | 'localStorageCapacityIsolation'
>;

/** Reads the settings of eviction. @throws {AgentError} `invalid_argument` naming the threshold that is wrong */
export const evictionSettings = (config: EvictionConfiguration): EvictionSettings => ({
  thresholds: parseThresholds(config),
  maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod ?? 0,
  pressureTransitionPeriodMs: durationMs(config.evictionPressureTransitionPeriod),
  localStorageCapacityIsolation: config.localStorageCapacityIsolation,
});

/** How an agent evicts by its settings. @throws {AgentError} `invalid_argument` naming the threshold that is wrong */
export const evictionOptions = (
  config: EvictionConfiguration & Pick<KubeletConfiguration, 'volumeStatsAggPeriod'>,
  podLogsDir: string,
): EvictionOptions => ({
  settings: evictionSettings(config),
  volumeStatsPeriodMs: durationMs(config.volumeStatsAggPeriod),
  podLogsDir,
});

/** What the node keeps from pods so that eviction comes in time, for its allocatable amounts. */
export const hardThresholds = (thresholds: readonly Threshold[]): readonly HardThreshold[] =>
  thresholds
    .filter((threshold) => isHardThreshold(threshold) && threshold.operator !== undefined)
    .map(({ signal, value: { quantity, percentage } }) => ({
      signal,
      ...(quantity && { quantity: formatQuantity(quantity) }),
      ...(percentage !== undefined && { percentage }),
    }));

/** What both enders of pods are made of. */
export interface EndingParts {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** Asked late: the engines ask for the pressures themselves. */
  readonly engines: () => Pick<Engines, 'syncHandler' | 'podWorkers'>;
}

/** What eviction needs besides the engines. */
export interface EvictionParts
  extends EndingParts, Pick<EvictionDeps, 'summary' | 'reclaim' | 'evicted' | 'statsAge'> {}

/**
 * The eviction manager over a pods controller's engines. Its `conditions` are the host's `pressure` for admission, its `pressure` is the
 * node status's.
 */
export function makeEvictions(parts: EvictionParts, settings: EvictionSettings): EvictionManager {
  const { engines, summary, reclaim, evicted, statsAge } = parts;
  return new EvictionManager(
    {
      ...commonOf(parts),
      summary,
      reclaim,
      ...(evicted && { evicted }),
      ...(statsAge && { statsAge }),
      pods: {
        activePods: () => engines().syncHandler.activePods(),
        isFinished: (uid) => engines().podWorkers.shouldPodBeFinished(uid),
        killPod: (pod, kill) => killPodNow(killerOf(parts), pod, kill),
      },
    },
    settings,
  );
}

/** The settings that a shutdown goes by. */
export type ShutdownConfiguration = Pick<
  KubeletConfiguration,
  'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
>;

/** The windows in which pods end: those set by priority, else those that the two periods stand for. */
export function configuredWindows(config: ShutdownConfiguration): readonly ShutdownWindow[] {
  const byPriority = config.shutdownGracePeriodByPodPriority ?? [];
  if (byPriority.length > 0)
    return byPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
      priority,
      graceSeconds: shutdownGracePeriodSeconds,
    }));
  return shutdownWindows(
    durationMs(config.shutdownGracePeriod),
    durationMs(config.shutdownGracePeriodCriticalPods),
  );
}

/**
 * How pods end with the machine by these settings, as systemd-logind tells of it; absent: no time is set for it, and they do not.
 */
export function shutdownOptions(
  config: ShutdownConfiguration & Pick<KubeletConfiguration, 'featureGates'>,
  deps: LogindDeps,
  source: Pick<LogindSettings, 'byLogindOnly'> = {},
): ShutdownOptions | undefined {
  if (config.featureGates?.['GracefulNodeShutdown'] === false) return undefined;
  const windows = configuredWindows(config);
  const graceSeconds = windows.reduce((total, window) => total + window.graceSeconds, 0);
  if (graceSeconds === 0) return undefined;
  return { windows, source: new LogindShutdown(deps, { graceSeconds, ...source }) };
}

/** What a shutdown needs besides the engines. */
export interface ShutdownParts extends EndingParts {
  readonly source: ShutdownSource;
  readonly noted?: NonNullable<ShutdownDeps['noted']>;
  readonly syncNodeStatus: () => Promise<void>;
}

/**
 * The shutdown manager over a pods controller's engines. Its `isShuttingDown` is the host's, its `fault` is the `shutdown` of the node's
 * readiness.
 */
export const makeShutdown = (parts: ShutdownParts, windows: readonly ShutdownWindow[]): ShutdownManager =>
  new ShutdownManager(
    {
      ...commonOf(parts),
      source: parts.source,
      ...(parts.noted && { noted: parts.noted }),
      activePods: () => parts.engines().syncHandler.activePods(),
      killPod: (pod, kill) => killPodNow(killerOf(parts), pod, kill),
      syncNodeStatus: () => parts.syncNodeStatus(),
    },
    windows,
  );

/** The node as events are about it: readers look for them by this UID. */
export const nodeRefOf = (nodeName: string): KubeObject => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: { name: nodeName, uid: nodeName },
});

const commonOf = ({
  clock,
  logger,
  recorder,
  nodeName,
}: EndingParts): Pick<EvictionDeps, 'logger' | 'recorder' | 'nodeRef'> & { readonly clock: Clock } => ({
  clock,
  logger,
  recorder,
  nodeRef: nodeRefOf(nodeName),
});

const killerOf = ({ clock, recorder, engines }: EndingParts): KillPodDeps => ({
  clock,
  recorder,
  workers: engines().podWorkers,
});
