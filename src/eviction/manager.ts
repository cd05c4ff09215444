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

/** How an evicted pod is ended. */
export interface EvictionKill {
  readonly evict: true;
  readonly gracePeriodSeconds: number;
  readonly statusFn: (status: PodStatus) => PodStatus;
}

/** What eviction needs of others. */
export interface EvictionDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** The node that Events are about. */
  readonly nodeRef: KubeObject;
  readonly summary: {
    /** Takes statistics anew. */
    get(signal?: AbortSignal): Promise<StatsSummary>;
    /** Asked once, before the first pass. */
    layout(): Promise<FileSystemLayout>;
  };
  readonly pods: {
    /** Those that have or may get running containers. */
    activePods(): readonly Pod[];
    /** Ends a pod; resolves when none of its containers runs. */
    killPod(pod: Pod, kill: EvictionKill): Promise<void>;
    /** Whether nothing is left to be done for the pod (R120). */
    isFinished(uid: string): boolean;
  };
  /** What the node itself can give up; absent: nothing of that kind. */
  readonly reclaim: Readonly<Partial<Record<NodeReclaim, (signal?: AbortSignal) => Promise<void>>>>;
  /** Told of each pod that was evicted, and for which signal; absent: nobody counts. */
  readonly evicted?: (signal: string) => void;
  /** Told how old the statistics are that a pod is evicted by; absent: nobody measures. */
  readonly statsAge?: (signal: string, ms: number) => void;
}

/** The settings of eviction. */
export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  /** The most that a soft threshold leaves a pod, seconds. */
  readonly maxPodGracePeriodSeconds: number;
  /** How long a pressure is reported after it was last seen. Default of the kubelet: 5 min. */
  readonly pressureTransitionPeriodMs: number;
  /** Whether limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}

/** R248. */
const monitoringPeriodMs = 10_000;
const cleanupTimeoutMs = 30_000;
const cleanupPollMs = 1000;

const kinds: Readonly<Record<'memory' | 'disk' | 'pid', PressureCondition>> = {
  memory: 'MemoryPressure',
  disk: 'DiskPressure',
  pid: 'PIDPressure',
};

/** What is known of the node in one pass. */
interface Look {
  readonly pods: readonly Pod[];
  readonly summary: StatsSummary;
  readonly observations: Observations;
  readonly layout: FileSystemLayout;
}

/**
 * Watches what the node is short of, says so as pressure, frees what the node can give up, and then evicts one pod at a time (R248…R250).
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

  /** The pressures in force, for admission (R130). */
  conditions(): readonly PressureCondition[] {
    return this.#state.pressures;
  }

  /** Whether the first pass has seen what the node is short of, or could not tell. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** Whether the node reports that pressure, for its status (R259). */
  pressure(kind: 'memory' | 'disk' | 'pid'): boolean {
    return this.#state.pressures.includes(kinds[kind]);
  }

  /** The thresholds that are met beyond their grace period. */
  thresholdsMet(): readonly Threshold[] {
    return this.#state.met;
  }

  /** Passes every 10 s until `signal` aborts; after an eviction, as soon as the pod is finished, 30 s at most. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const evicted = await this.#pass(signal);
      const pause =
        evicted.length > 0 ? this.#cleanedUp(evicted, signal) : this.#sleep(monitoringPeriodMs, signal);
      await pause;
    }
  }

  /**
   * One pass.
   *
   * @returns the pods that were evicted: one that the node's shortage cost, or any number that broke their own limits
   *   or none, also when there are no statistics
   * @throws {AgentError} `unavailable` when the layout of the file systems cannot be learnt
   */
  async synchronize(signal?: AbortSignal): Promise<readonly Pod[]> {
    const { thresholds: settled, localStorageCapacityIsolation } = this.#settings;
    if (settled.length === 0 && !localStorageCapacityIsolation) return [];
    const known = this.#thresholds.length;
    const look = await this.#look(signal);
    if (!look) return [];
    // the pass that learns the layout does not yet judge by the thresholds that this adds, as the kubelet's
    const { urgent, state } = this.#assess(this.#thresholds.slice(0, known), look);
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

  /** `undefined`: there are no statistics; the log says why. */
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

  /** First what the node can give up, then a pod (R250). */
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

  /** @returns whether that was enough for all thresholds, their minimum reclaim included */
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

  /** A pod that would not end in time counts as evicted: its worker goes on ending it. */
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

  /** Ends early, in peace, when the signal aborts. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }
}

/** What the node itself can give up before a pod must go. */
type NodeReclaim = 'deadContainers' | 'unusedImages';

/**
 * What to free on the node when `signal` is short, in order (R250). With images apart, the node's own file system holds nothing that
 * could be freed.
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
