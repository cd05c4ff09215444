import { type Clock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { KubeObject, Pod, PodStatus } from '../kube/types.ts';
import { type Assessment, assess, type EvictionState, initialState, thresholdsMet } from './assess.ts';
import { evictedReason, evictedStatus, type Eviction, evictionFor, limitEvictions } from './eviction.ts';
import { type Observations, observationsOf, withContainerFsThresholds } from './observations.ts';
import { type PressureCondition, type Signal, signalFacts } from './signals.ts';
import { statsByUid, type StatsSummary, type FileSystemLayout } from '../kube/stats-summary.ts';
import type { Threshold } from './thresholds.ts';

/** How to kill an evicted pod. */
export interface EvictionKill {
  readonly evict: true;
  readonly gracePeriodSeconds: number;
  readonly statusFn: (status: PodStatus) => PodStatus;
}

/** Dependencies of EvictionManager. */
export interface EvictionDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** The node that Events refer to. */
  readonly nodeRef: KubeObject;
  readonly summary: {
    /** Collects current statistics. */
    get(signal?: AbortSignal): Promise<StatsSummary>;
    /** Returns the layout of file systems; called once, before the first pass. */
    layout(): Promise<FileSystemLayout>;
  };
  readonly pods: {
    /** Returns the pods that have or may get running containers. */
    activePods(): readonly Pod[];
    /** Kills a pod; resolves when none of its containers runs. */
    killPod(pod: Pod, kill: EvictionKill): Promise<void>;
    /** True when the pod is finished (R120). */
    isFinished(uid: string): boolean;
  };
  /** Functions that reclaim resources on the node; absent: not supported. */
  readonly reclaim: Readonly<Partial<Record<NodeReclaim, (signal?: AbortSignal) => Promise<void>>>>;
  /** Called for each evicted pod with the signal; for metrics. */
  readonly evicted?: (signal: string) => void;
  /** Called with the age of the statistics on which an eviction is based; for metrics. */
  readonly statsAge?: (signal: string, ms: number) => void;
}

/** Settings of eviction. */
export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  /** Maximum grace period of a soft eviction, seconds. */
  readonly maxPodGracePeriodSeconds: number;
  /** How long a pressure is reported after it was last observed, ms. The kubelet's default: 5 min. */
  readonly pressureTransitionPeriodMs: number;
  /** True when limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}

/** Interval of passes, ms (R248). */
const monitoringPeriodMs = 10_000;
const cleanupTimeoutMs = 30_000;
const cleanupPollMs = 1000;

const kinds: Readonly<Record<'memory' | 'disk' | 'pid', PressureCondition>> = {
  memory: 'MemoryPressure',
  disk: 'DiskPressure',
  pid: 'PIDPressure',
};

/** Observations of one pass. */
interface Look {
  readonly pods: readonly Pod[];
  readonly summary: StatsSummary;
  readonly observations: Observations;
  readonly layout: FileSystemLayout;
}

/**
 * EvictionManager evaluates eviction thresholds every 10 s, reports pressure, reclaims resources on the node, and then evicts one pod per
 * pass (R248…R250).
 *
 * Follows kubelet `eviction.managerImpl`.
 */
export class EvictionManager {
  readonly #deps: EvictionDeps;
  readonly #settings: EvictionSettings;
  #thresholds: readonly Threshold[];
  #layout: FileSystemLayout | undefined;
  #state: EvictionState = initialState;
  #hasLooked = false;

  constructor(deps: EvictionDeps, settings: EvictionSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#thresholds = settings.thresholds;
  }

  /** Returns the current pressure conditions, for admission (R130). */
  conditions(): readonly PressureCondition[] {
    return this.#state.pressures;
  }

  /** True when the first pass has finished, with or without statistics. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** True when the node reports this pressure in its status (R259). */
  pressure(kind: 'memory' | 'disk' | 'pid'): boolean {
    return this.#state.pressures.includes(kinds[kind]);
  }

  /** Returns the thresholds that have been met for longer than their grace period. */
  thresholdsMet(): readonly Threshold[] {
    return this.#state.met;
  }

  /** Runs a pass every 10 s until `signal` aborts; after an eviction, as soon as the pod is finished, at most 30 s later. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const evicted = await this.#pass(signal);
      const pause =
        evicted.length > 0 ? this.#cleanedUp(evicted, signal) : this.#sleep(monitoringPeriodMs, signal);
      await pause;
    }
  }

  /**
   * Runs one pass.
   *
   * @returns the evicted pods: one because of the node's shortage, or any number that exceeded their own limits;
   * empty when there was nothing to do or there are no statistics
   * @throws {AgentError} `unavailable` when the layout of the file systems cannot be determined
   */
  async synchronize(signal?: AbortSignal): Promise<readonly Pod[]> {
    const { thresholds: settled, localStorageCapacityIsolation } = this.#settings;
    if (settled.length === 0 && !localStorageCapacityIsolation) return [];
    const thresholdCount = this.#thresholds.length;
    const look = await this.#look(signal);
    if (!look) return [];
    // As in the kubelet, thresholds that the layout adds are not evaluated in the pass that determines the layout.
    const { urgent, state } = this.#assess(this.#thresholds.slice(0, thresholdCount), look);
    this.#state = state;
    this.#hasLooked = true;
    if (localStorageCapacityIsolation) {
      const evicted = await this.#evictAll(limitEvictions(look.pods, statsByUid(look.summary), look.layout));
      if (evicted.length > 0) return evicted;
    }
    const [threshold] = urgent;
    return threshold ? this.#relieve(threshold, urgent, look, signal) : [];
  }

  async #pass(signal: AbortSignal): Promise<readonly Pod[]> {
    try {
      return await this.synchronize(signal);
    } catch (reason) {
      if (!signal.aborted) this.#deps.logger.error('eviction pass failed', { err: messageOf(reason) });
      return [];
    } finally {
      this.#hasLooked = true;
    }
  }

  async #look(signal: AbortSignal | undefined): Promise<Look | undefined> {
    const layout = (this.#layout ??= await this.#learnLayout());
    const pods = this.#deps.pods.activePods();
    const summary = await this.#summary(signal);
    return summary && { layout, pods, summary, observations: observationsOf(summary) };
  }

  async #learnLayout(): Promise<FileSystemLayout> {
    const layout = await this.#deps.summary.layout().catch((reason: unknown) => {
      const message = `eviction manager: failed to get HasDedicatedImageFs: ${messageOf(reason)}`;
      throw new AgentError('unavailable', message, { cause: reason });
    });
    const { thresholds, ignored } = withContainerFsThresholds(this.#thresholds, layout);
    if (ignored !== undefined)
      this.#deps.logger.error('a containerfs threshold is ignored', { err: ignored });
    this.#thresholds = thresholds;
    return layout;
  }

  /** Returns the statistics; `undefined` with a log message when there are none. */
  async #summary(signal: AbortSignal | undefined): Promise<StatsSummary | undefined> {
    try {
      return await this.#deps.summary.get(signal);
    } catch (reason) {
      this.#deps.logger.error('no statistics for eviction', { err: messageOf(reason) });
      return undefined;
    }
  }

  #assess(thresholds: readonly Threshold[], { observations }: Look): Assessment {
    const { pressureTransitionPeriodMs } = this.#settings;
    const now = this.#deps.clock.now();
    return assess(this.#state, { thresholds, observations, now, pressureTransitionPeriodMs });
  }

  /** Reclaims resources on the node, then evicts a pod if that was not enough (R250). */
  async #relieve(
    threshold: Threshold,
    urgent: readonly Threshold[],
    { pods, summary, observations, layout }: Look,
    signal: AbortSignal | undefined,
  ): Promise<readonly Pod[]> {
    const { recorder, nodeRef, logger } = this.#deps;
    const { resource } = signalFacts[threshold.signal];
    recorder.event(nodeRef, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    if (await this.#reclaimFromNode(threshold.signal, layout, signal)) {
      logger.info('pressure relieved without evicting pods', { resource });
      return [];
    }
    if (pods.length > 0) this.#tellAges(urgent, observations);
    const eviction = evictionFor(threshold, {
      pods,
      stats: statsByUid(summary),
      layout,
      thresholds: urgent,
      observations,
      maxPodGracePeriodSeconds: this.#settings.maxPodGracePeriodSeconds,
    });
    if (eviction) return this.#evictAll([eviction]);
    logger.error('eviction thresholds are met, but no pod can be evicted', { resource });
    return [];
  }

  #tellAges(thresholds: readonly Threshold[], observations: Observations): void {
    const { clock, statsAge } = this.#deps;
    for (const { signal } of thresholds) {
      const at = observations[signal]?.at;
      if (at !== undefined) statsAge?.(signal, clock.now() - at);
    }
  }

  /** @returns true when all thresholds are satisfied, including their minimum reclaim */
  async #reclaimFromNode(
    starved: Signal,
    layout: FileSystemLayout,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { reclaim, logger } = this.#deps;
    const reclaims = nodeReclaimsFor(starved, layout);
    if (reclaims.length === 0) return false;
    for (const kind of reclaims) {
      try {
        await reclaim[kind]?.(signal);
      } catch (reason) {
        logger.info('could not reclaim from the node', { kind, err: messageOf(reason) });
      }
    }
    const summary = await this.#summary(signal);
    return (
      summary !== undefined && thresholdsMet(this.#thresholds, observationsOf(summary), true).length === 0
    );
  }

  async #evictAll(evictions: readonly Eviction[]): Promise<readonly Pod[]> {
    for (const eviction of evictions) await this.#evict(eviction);
    return evictions.map(({ pod }) => pod);
  }

  /** Evicts a pod. One that does not end in time counts as evicted, as its worker continues. */
  async #evict(eviction: Eviction): Promise<void> {
    const { clock, recorder, logger, pods } = this.#deps;
    const { pod, gracePeriodSeconds, message, annotations } = eviction;
    recorder.event(pod, 'Warning', evictedReason, message, annotations && { annotations });
    const statusFn = (status: PodStatus): PodStatus => evictedStatus(status, eviction, clock.now());
    try {
      await pods.killPod(pod, { evict: true, gracePeriodSeconds, statusFn });
      logger.info('pod evicted', { pod: keyOf(pod), uid: uidOf(pod) });
    } catch (reason) {
      logger.error('evicted pod did not end', { pod: keyOf(pod), uid: uidOf(pod), err: messageOf(reason) });
    }
    this.#deps.evicted?.(eviction.signal);
  }

  async #cleanedUp(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { clock, pods, logger } = this.#deps;
    for (const end = steadyNow(clock) + cleanupTimeoutMs; steadyNow(clock) < end && !signal.aborted;) {
      await this.#sleep(cleanupPollMs, signal);
      if (evicted.every((pod) => pods.isFinished(uidOf(pod)))) return;
    }
    if (!signal.aborted)
      logger.warn('evicted pods were not cleaned up in time', { pods: evicted.map(keyOf) });
  }

  /** Sleeps; returns early without an error when the signal aborts. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }
}

/** Resources that the node can reclaim before a pod must be evicted. */
type NodeReclaim = 'deadContainers' | 'unusedImages';

/**
 * Returns what to reclaim on the node when `signal` is short, in order (R250). With a separate image file system, nothing can be reclaimed
 * on the node's own.
 *
 * Follows kubelet `buildSignalToNodeReclaimFuncs`.
 */
export function nodeReclaimsFor(signal: Signal, layout: FileSystemLayout): readonly NodeReclaim[] {
  const fileSystem = signal.split('.')[0];
  if (fileSystem !== 'nodefs' && fileSystem !== 'imagefs' && fileSystem !== 'containerfs') return [];
  return tableOf(layout)[fileSystem];
}

type FileSystemReclaims = Readonly<Record<'nodefs' | 'imagefs' | 'containerfs', readonly NodeReclaim[]>>;

const both = ['deadContainers', 'unusedImages'] as const;

const tables: Readonly<Record<'together' | 'images' | 'split', FileSystemReclaims>> = {
  together: { nodefs: both, imagefs: both, containerfs: both },
  images: { nodefs: [], imagefs: both, containerfs: both },
  split: { nodefs: ['deadContainers'], imagefs: ['unusedImages'], containerfs: ['deadContainers'] },
};

const tableOf = ({ dedicatedImageFs, splitContainerFs }: FileSystemLayout): FileSystemReclaims =>
  tables[dedicatedImageFs ? (splitContainerFs ? 'split' : 'images') : 'together'];
