import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import {
  PodWorkers as CoreWorkers,
  type PodWorkersDeps as CoreDeps,
  type PodWorkersOptions,
} from './pod-workers.ts';
import type { PodWorkerSync } from './queries.ts';
import type { PodState, WorkType } from './state.ts';
import type {
  Completion,
  KillPodOptions as OwnKillPodOptions,
  PodStatusFn,
  UpdatePodOptions as OwnUpdatePodOptions,
  UpdateType,
} from './updates.ts';

/** Waiting reason of a container whose pod still runs its init containers. Kubelet's `PodInitializing`. */
export const PodInitializing = 'PodInitializing';

/** Waiting reason of a container that is to be created and that nothing is known of yet. Kubelet's `ContainerCreating`. */
export const ContainerCreating = 'ContainerCreating';

/** The text in errors of pods that wait for the node's network; such a pod is tried again after 1 s. Kubelet's `NetworkNotReadyErrorMsg`. */
export const NetworkNotReadyErrorMsg = 'network is not ready';

/** Called once when what was asked for is done, with the error if it failed. */
export type OnCompleteFunc = (error?: Error) => void;

/** Rewrites the status of a pod once, when its termination begins, for example to say why it is evicted. */
export type PodStatusFunc = (status: PodStatus) => PodStatus;

/** What a worker does with an update: start and keep containers, stop them, or clean up what is left. Kubelet's `PodWorkType`. */
export type PodWorkType = WorkType;

/**
 * What a worker is at.
 *
 * - `sync`: containers are started and kept running.
 * - `terminating`: containers are being stopped; nothing leads back to `sync`.
 * - `terminated`: no container runs; what is left of the pod is being removed.
 * - `terminated-and-recreated`: as `terminated`, and a pod with the same UID was created meanwhile: it starts when this one is gone.
 */
export type PodWorkerState = PodWorkType | 'terminated-and-recreated';

/** How a pod is to be killed, in the words of the reference framework. */
export interface ReferenceKillPodOptions {
  /** Called when no container of the pod runs any more, or when there is nothing to wait for; it is always called. Here also `completed`. */
  readonly completed?: Completion | undefined;
  /** The pod is evicted: what it holds may be removed at once. Here also `evict`. */
  readonly evict?: boolean | undefined;
  /** Rewrites the status at the beginning of the end. Here also `statusFn`. */
  readonly podStatusFunc?: PodStatusFunc | undefined;
  /** Grace period in seconds; counts only where it is shorter than the one before. Here also `gracePeriodSeconds`. */
  readonly podTerminationGracePeriodSecondsOverride?: number | undefined;
}

/**
 * How a pod is to be killed, in the words of the reference framework or in this package's.
 *
 * | reference | here |
 * |---|---|
 * | `completed` (`CompletedCh`) | `completed` |
 * | `evict` | `evict` |
 * | `podStatusFunc` | `statusFn` |
 * | `podTerminationGracePeriodSecondsOverride` | `gracePeriodSeconds` |
 *
 * @example
 * const stopped = Promise.withResolvers<void>();
 * workers.updatePod({ updateType: 'kill', pod, killPodOptions: { evict: true, completed: stopped.resolve } });
 * await stopped.promise;
 */
export type KillPodOptions = ReferenceKillPodOptions | OwnKillPodOptions;

/** What a worker is told of a pod, in the words of the reference framework. */
export interface ReferenceUpdatePodOptions {
  /** Why the pod is looked at. Here also `type`. */
  readonly updateType: UpdateType;
  /** When the change came in, ms since the epoch. */
  readonly startTime?: number | undefined;
  readonly pod?: Pod | undefined;
  /** The mirror of a static pod, if there is one. */
  readonly mirrorPod?: Pod | undefined;
  /** What only the runtime knows, without `pod`; it can only be killed. */
  readonly runningPod?: RuntimePod | undefined;
  /** Here also `kill`. */
  readonly killPodOptions?: KillPodOptions | undefined;
}

/** What a worker is told of a pod: `updateType` and `killPodOptions` as the reference names them, or `type` and `kill`. */
export type UpdatePodOptions = ReferenceUpdatePodOptions | OwnUpdatePodOptions;

/** What other parts may ask about a pod's worker before they remove something of it. Kubelet's `podStateProvider`. */
export interface PodStateProvider {
  /**
   * Whether a container of the pod may run or be started. True from the first update on, and for a UID without a worker until the first
   * {@link PodWorkers.syncKnownPods}; false once the worker has terminated, and for unknown UIDs after that call.
   */
  couldHaveRunningContainers(uid: string): boolean;
  /**
   * Whether the pod's containers may be removed from the runtime. True once the worker has terminated, and for unknown UIDs after the first
   * {@link PodWorkers.syncKnownPods}; false again when the same UID is created anew.
   */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
  /**
   * Whether what the pod's containers wrote, logs included, may be removed. True once the pod was evicted, or was deleted and has terminated,
   * and for unknown UIDs after the first {@link PodWorkers.syncKnownPods}; false again when the same UID is created anew.
   */
  shouldPodContentBeRemoved(uid: string): boolean;
}

/**
 * One worker per pod UID: everything that happens to a pod goes through it, one step at a time.
 *
 * Implement it to test code that uses pod workers; construct {@link PodWorkers:variable} to have the kubelet's.
 */
export interface PodWorkers extends PodStateProvider {
  /** Tells a pod's worker what is wanted; of several updates that wait the newest counts. Returns at once. */
  updatePod(options: UpdatePodOptions): void;
  /**
   * Tells which pods are desired: finished workers of others are forgotten, and other pods are driven to their end. Returns what is left, by
   * UID. To be called again and again, and for the first time once all sources of pods are ready.
   */
  syncKnownPods(desiredPods: readonly Pod[]): Map<string, PodWorkerSync>;
  /** Whether the worker has terminated. True when no container runs and none will; false again when the UID is created anew or forgotten. */
  isPodKnownTerminated(uid: string): boolean;
  /**
   * Whether the end of the pod was asked for. True from a deletion, an eviction, a kill or a terminal phase on; false again when the UID is
   * created anew or forgotten.
   */
  isPodTerminationRequested(uid: string): boolean;
  /**
   * Whether no container of the pod is started any more. True once the worker has begun to stop containers, and for unknown UIDs after the
   * first {@link syncKnownPods}; false again when the UID is created anew.
   */
  shouldPodContainersBeTerminating(uid: string): boolean;
  /**
   * Whether the static pod of this full name (`name_namespace`) is being stopped, so that its mirror is still of use. True while the worker
   * that holds the name is terminating; false once it has terminated.
   */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
}

/** What pod workers are made of. */
export interface PodWorkersDeps extends Omit<CoreDeps, 'clock' | 'random' | 'queue'> {
  readonly clock: Clock;
  /** Default: the machine's randomness. */
  readonly random?: Random;
  /** Plans the next look at each pod; absent: the workers look again by themselves, with the clock's timers. */
  readonly queue?: CoreDeps['queue'];
}

/** Pod workers that can be used without the rest of the agent. */
export interface StandalonePodWorkers extends PodWorkers {
  /** What the worker of a UID is at; `undefined`: there is none. */
  stateOf(uid: string): PodState | undefined;
  /** {@link stateOf} in the words of the reference framework. */
  podWorkerState(uid: string): PodWorkerState | undefined;
  /** Ends all workers: steps in flight are cancelled, timers stop, completions that are open are called. Containers go on. */
  close(): void;
}

class Standalone extends CoreWorkers implements StandalonePodWorkers {
  readonly #queue: TimerQueue | undefined;
  /** Completions that were not called yet. */
  readonly #open = new Set<Completion>();

  constructor({ random = systemRandom, ...deps }: PodWorkersDeps, options: PodWorkersOptions = {}) {
    const timers = deps.queue
      ? undefined
      : new TimerQueue(deps.clock, (uid) => {
          this.#lookAgain(uid);
        });
    const queue = deps.queue ?? timers;
    if (!queue) throw new AgentError('internal', 'pod workers have no queue');
    super({ ...deps, random, queue }, { settleFinishedKills: true, ...options });
    this.#queue = timers;
  }

  override updatePod(options: UpdatePodOptions): void {
    const update = 'updateType' in options ? ownUpdate(options) : options;
    const { completed, ...kill } = ownKill(update.kill ?? {});
    if (!update.kill) {
      super.updatePod(update);
      return;
    }
    const known = update.pod !== undefined || (update.runningPod !== undefined && update.type === 'kill');
    const once = completed && this.#once(completed);
    super.updatePod({ ...update, kill: { ...kill, ...(once && { completed: once }) } });
    if (!known) once?.();
  }

  podWorkerState(uid: string): PodWorkerState | undefined {
    const state = this.stateOf(uid);
    if (!state) return undefined;
    if (state.phase === 'sync' || state.phase === 'terminating') return state.phase;
    return state.restartRequested ? 'terminated-and-recreated' : 'terminated';
  }

  override close(): void {
    this.#queue?.close();
    super.close();
    for (const completed of this.#open) completed();
  }

  #once(completed: Completion): Completion {
    const once = (): void => {
      if (this.#open.delete(once)) completed();
    };
    this.#open.add(once);
    return once;
  }

  /** What the sync loop does in a whole agent: repeats the last update of a pod. */
  #lookAgain(uid: string): void {
    const active = this.stateOf(uid)?.active;
    if (active?.pod) {
      const { pod, mirrorPod } = active;
      super.updatePod({ type: 'sync', pod, ...(mirrorPod && { mirrorPod }) });
    } else if (active) {
      const { runningPod, kill } = active;
      super.updatePod({ type: 'kill', runningPod, ...(kill && { kill }) });
    }
  }
}

/** Looks at each pod again when its time has come. */
class TimerQueue {
  readonly #clock: Clock;
  readonly #due: (uid: string) => void;
  readonly #stops = new Map<string, () => void>();
  #closed = false;

  constructor(clock: Clock, due: (uid: string) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  enqueue(uid: string, delayMs: number): void {
    this.#stops.get(uid)?.();
    if (this.#closed) return;
    const stop = this.#clock.timer(delayMs, () => {
      this.#stops.delete(uid);
      this.#due(uid);
    });
    this.#stops.set(uid, stop);
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}

function ownUpdate(options: ReferenceUpdatePodOptions): OwnUpdatePodOptions {
  const { updateType, startTime, pod, mirrorPod, runningPod, killPodOptions } = options;
  return {
    type: updateType,
    ...(startTime !== undefined && { startTime }),
    ...(pod && { pod }),
    ...(mirrorPod && { mirrorPod }),
    ...(runningPod && { runningPod }),
    ...(killPodOptions && { kill: ownKill(killPodOptions) }),
  };
}

function ownKill(options: KillPodOptions): OwnKillPodOptions {
  const either: ReferenceKillPodOptions & { gracePeriodSeconds?: number; statusFn?: PodStatusFn } = options;
  const { completed, evict, podStatusFunc, podTerminationGracePeriodSecondsOverride: override } = either;
  const gracePeriodSeconds = either.gracePeriodSeconds ?? override;
  const statusFn = either.statusFn ?? podStatusFunc;
  return {
    ...(completed && { completed }),
    ...(evict !== undefined && { evict }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(statusFn && { statusFn }),
  };
}

/**
 * The kubelet's pod workers over a syncer, a cache and an event recorder of your own. A worker looks at its pod again after each step:
 * after a minute, or after 10 s when the step failed.
 *
 * @example
 * const workers = new PodWorkers({ clock: systemClock, recorder, syncer, cache: new PodCache() });
 * workers.syncKnownPods([]);
 * workers.updatePod({ updateType: 'create', pod });
 */
export const PodWorkers: new (deps: PodWorkersDeps, options?: PodWorkersOptions) => StandalonePodWorkers =
  Standalone;
