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

/** Waiting reason of a container that has not been created yet. Kubelet's `ContainerCreating`. */
export const ContainerCreating = 'ContainerCreating';

/**
 * The text in errors of pods that wait for the node's network; such a pod is synced again after 1 s. Kubelet's `NetworkNotReadyErrorMsg`.
 */
export const NetworkNotReadyErrorMsg = 'network is not ready';

/** Called once when the requested operation has ended, with the error if it failed. */
export type OnCompleteFunc = (error?: Error) => void;

/** Rewrites the status of a pod once, when its termination begins, for example to say why it is evicted. */
export type PodStatusFunc = (status: PodStatus) => PodStatus;

/** What a worker does with an update: start and keep containers, stop them, or clean up what is left. Kubelet's `PodWorkType`. */
export type PodWorkType = WorkType;

/**
 * The state of a pod worker.
 *
 * - `sync`: containers are started and kept running.
 * - `terminating`: containers are being stopped; nothing leads back to `sync`.
 * - `terminated`: no container runs; what is left of the pod is being removed.
 * - `terminated-and-recreated`: as `terminated`, and a pod with the same UID was created meanwhile: it starts when this one is gone.
 */
export type PodWorkerState = PodWorkType | 'terminated-and-recreated';

/** The options of a kill, with the field names of the kubelet framework that this package follows. */
export interface ReferenceKillPodOptions {
  /**
   * Called when no container of the pod runs any more, or at once when there is nothing to wait for. Always called. Here also `completed`.
   */
  readonly completed?: Completion | undefined;
  /** True for an eviction: the pod's content may be removed at once. Here also `evict`. */
  readonly evict?: boolean | undefined;
  /** Rewrites the status when the termination begins. Here also `statusFn`. */
  readonly podStatusFunc?: PodStatusFunc | undefined;
  /** Grace period in seconds; applies only where it is shorter than the one in force. Here also `gracePeriodSeconds`. */
  readonly podTerminationGracePeriodSecondsOverride?: number | undefined;
}

/**
 * The options of a kill, with the field names of the reference framework or of this package.
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

/** An update for a pod's worker, with the field names of the reference framework. */
export interface ReferenceUpdatePodOptions {
  /** Why the pod is synced. Here also `type`. */
  readonly updateType: UpdateType;
  /** When the change came in, ms since the epoch. */
  readonly startTime?: number | undefined;
  readonly pod?: Pod | undefined;
  /** The mirror pod of a static pod, if there is one. */
  readonly mirrorPod?: Pod | undefined;
  /** A pod that only the runtime knows, in place of `pod`; it can only be killed. */
  readonly runningPod?: RuntimePod | undefined;
  /** Here also `kill`. */
  readonly killPodOptions?: KillPodOptions | undefined;
}

/** An update for a pod's worker: with `updateType` and `killPodOptions` as the reference names them, or with `type` and `kill`. */
export type UpdatePodOptions = ReferenceUpdatePodOptions | OwnUpdatePodOptions;

/** Answers whether something of a pod may be removed. Ask it before cleaning up. Kubelet's `podStateProvider`. */
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
   * Whether what the pod's containers wrote, logs included, may be removed. True once the pod was evicted, or was deleted and has
   * terminated, and for unknown UIDs after the first {@link PodWorkers.syncKnownPods}; false again when the same UID is created anew.
   */
  shouldPodContentBeRemoved(uid: string): boolean;
}

/**
 * PodWorkers runs one worker per pod UID: everything that happens to a pod goes through its worker, one step at a time.
 *
 * Implement it to test code that uses pod workers; construct {@link PodWorkers:variable} for the kubelet's behaviour.
 */
export interface PodWorkers extends PodStateProvider {
  /** Sends an update to the pod's worker; of several pending updates the newest wins. Returns at once. */
  updatePod(options: UpdatePodOptions): void;
  /**
   * Sets the desired pods: workers of other pods are forgotten when they have finished, and terminated otherwise. Returns the remaining
   * workers by UID. Call it periodically, for the first time once all pod sources are ready.
   */
  syncKnownPods(desiredPods: readonly Pod[]): Map<string, PodWorkerSync>;
  /**
   * Whether the worker has terminated. True when no container runs and none will; false again when the UID is created anew or forgotten.
   */
  isPodKnownTerminated(uid: string): boolean;
  /**
   * Whether the termination of the pod was requested. True from a deletion, an eviction, a kill or a terminal phase on; false again when
   * the UID is created anew or forgotten.
   */
  isPodTerminationRequested(uid: string): boolean;
  /**
   * Whether no container of the pod will be started again. True once the worker has begun to stop containers, and for unknown UIDs after
   * the first {@link syncKnownPods}; false again when the UID is created anew.
   */
  shouldPodContainersBeTerminating(uid: string): boolean;
  /**
   * Whether the static pod of this full name (`name_namespace`) is being stopped, so that its mirror pod is still needed. True while the
   * worker that holds the name is terminating; false once it has terminated.
   */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
}

/** The dependencies of {@link PodWorkers:variable}. */
export interface PodWorkersDeps extends Omit<CoreDeps, 'clock' | 'random' | 'queue'> {
  readonly clock: Clock;
  /** Default: the machine's randomness. */
  readonly random?: Random;
  /** Schedules the next sync of each pod. When absent, the workers sync again by themselves, with the clock's timers. */
  readonly queue?: CoreDeps['queue'];
}

/** Pod workers that can be used without the rest of the agent. */
export interface StandalonePodWorkers extends PodWorkers {
  /** The state of the worker of a UID; `undefined` when it has none. */
  stateOf(uid: string): PodState | undefined;
  /** {@link stateOf} with the state names of the reference framework. */
  podWorkerState(uid: string): PodWorkerState | undefined;
  /** Stops all workers: cancels the steps in flight, stops the timers and calls open completions. Running containers are not touched. */
  close(): void;
}

class Standalone extends CoreWorkers implements StandalonePodWorkers {
  readonly #queue: TimerQueue | undefined;
  /** Completions that have not been called yet. */
  readonly #open = new Set<Completion>();

  constructor({ random = systemRandom, ...deps }: PodWorkersDeps, options: PodWorkersOptions = {}) {
    const timers = deps.queue
      ? undefined
      : new TimerQueue(deps.clock, (uid) => {
          this.#syncAgain(uid);
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
    const hasPod = update.pod !== undefined || (update.runningPod !== undefined && update.type === 'kill');
    const once = completed && this.#once(completed);
    super.updatePod({ ...update, kill: { ...kill, ...(once && { completed: once }) } });
    if (!hasPod) once?.();
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

  /** Repeats the last update of a pod, as the sync loop does in a whole agent. */
  #syncAgain(uid: string): void {
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

/** TimerQueue calls `due` for each pod when its delay has passed. */
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
 * The kubelet's pod workers on top of your own syncer, cache and event recorder. A worker syncs its pod again 60 s after each successful
 * step and 10 s after a failed one.
 *
 * @example
 * const workers = new PodWorkers({ clock: systemClock, recorder, syncer, cache: new PodCache() });
 * workers.syncKnownPods([]);
 * workers.updatePod({ updateType: 'create', pod });
 */
export const PodWorkers: new (deps: PodWorkersDeps, options?: PodWorkersOptions) => StandalonePodWorkers =
  Standalone;
