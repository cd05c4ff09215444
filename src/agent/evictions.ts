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

/** The eviction options of an agent. */
export interface EvictionOptions {
  readonly settings: EvictionSettings;
  /** The time between two measurements of a pod's volumes, ms; 0 for none (kubelet `volumeStatsAggPeriod`). */
  readonly volumeStatsPeriodMs: number;
  /** The directory of container logs; absent when logs are not counted. */
  readonly podLogsDir?: string;
  /** Returns the usage of the whole machine. Default: measures this machine. */
  readonly machine?: () => Promise<NodeUsage>;
  /** Returns the disk usage of a path. Default: measures it. */
  readonly measure?: MeasureDisk;
  /** Returns the usage of the file system of a path. Default: from the kernel. */
  readonly statFs?: (path: string) => Promise<FsUsage | undefined>;
}

/** The options of the graceful node shutdown. */
export interface ShutdownOptions {
  readonly source: ShutdownSource;
  readonly windows: readonly ShutdownWindow[];
}

/** The kubelet's default thresholds on Linux. */
const defaultEvictionHard: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** Applies the default hard thresholds: all of them when none is set, and the missing ones only with `mergeDefaultEvictionSettings`. */
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

/** The settings for eviction. */
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

/** Parses the eviction settings. @throws {AgentError} `invalid_argument` naming the invalid threshold */
export const evictionSettings = (config: EvictionConfiguration): EvictionSettings => ({
  thresholds: parseThresholds(config),
  maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod ?? 0,
  pressureTransitionPeriodMs: durationMs(config.evictionPressureTransitionPeriod),
  localStorageCapacityIsolation: config.localStorageCapacityIsolation,
});

/** Makes the eviction options from the settings. @throws {AgentError} `invalid_argument` naming the invalid threshold */
export const evictionOptions = (
  config: EvictionConfiguration & Pick<KubeletConfiguration, 'volumeStatsAggPeriod'>,
  podLogsDir: string,
): EvictionOptions => ({
  settings: evictionSettings(config),
  volumeStatsPeriodMs: durationMs(config.volumeStatsAggPeriod),
  podLogsDir,
});

/** The hard thresholds, which reduce the node's allocatable resources. */
export const hardThresholds = (thresholds: readonly Threshold[]): readonly HardThreshold[] =>
  thresholds
    .filter((threshold) => isHardThreshold(threshold) && threshold.operator !== undefined)
    .map(({ signal, value: { quantity, percentage } }) => ({
      signal,
      ...(quantity && { quantity: formatQuantity(quantity) }),
      ...(percentage !== undefined && { percentage }),
    }));

/** The common dependencies of the eviction manager and the shutdown manager. */
export interface EndingParts {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** A getter, because the engines in turn depend on the pressure conditions. */
  readonly engines: () => Pick<Engines, 'syncHandler' | 'podWorkers'>;
}

/** The dependencies of {@link makeEvictions}. */
export interface EvictionParts
  extends EndingParts, Pick<EvictionDeps, 'summary' | 'reclaim' | 'evicted' | 'statsAge'> {}

/**
 * Makes the eviction manager of a pods controller. Its `conditions` are the host's `pressure` for admission; its `pressure` goes into the
 * node status.
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

/** The settings for the graceful node shutdown. */
export type ShutdownConfiguration = Pick<
  KubeletConfiguration,
  'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
>;

/** The shutdown windows: those by pod priority when set, else those of the two grace periods. */
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
 * Makes the shutdown options from the settings, with systemd-logind as the source of the shutdown signal; `undefined` when no grace period
 * is set.
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

/** The dependencies of {@link makeShutdown}. */
export interface ShutdownParts extends EndingParts {
  readonly source: ShutdownSource;
  readonly noted?: NonNullable<ShutdownDeps['noted']>;
  readonly syncNodeStatus: () => Promise<void>;
}

/**
 * Makes the shutdown manager of a pods controller. Its `isShuttingDown` is used for admission; its `fault` is part of the node's readiness.
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

/** The reference to the node in Events; clients find them by this UID. */
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
