import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { FaultLog } from '../base/fault-log.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import type { Members } from '../base/members.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import { fullNameOf, isStaticPod, keyOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { type PodWorkerHost, PodWorker, type TurnGate } from './pod-worker.ts';
import type { PodSyncer } from './pod-syncer.ts';
import { type PodQueries, type PodWorkerSync, queriesOf, syncOf } from './queries.ts';
import { requeueDefaults, type RequeueOptions } from './requeue.ts';
import { StartGate } from './start-gate.ts';
import { firstState, firstStateOfEnded, type PodState, type WorkType } from './state.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import { isRuntimeIdle } from './terminal.ts';
import type { UpdatePodOptions } from './updates.ts';

export interface PodWorkersDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly recorder: EventRecorder;
  readonly syncer: PodSyncer;
  /** The last observed runtime status of each pod (`PodCache`). `get` throws the error of the last inspection, if it failed. */
  readonly cache: {
    get(uid: string): RuntimePodStatus;
    getNewerThan(uid: string, newerThan: number, signal?: AbortSignal): Promise<RuntimePodStatus>;
  };
  /** Schedules the next sync of a pod (`DueQueue`). */
  readonly queue: { enqueue(uid: string, delayMs: number): void };
  readonly logger?: Logger;
  /** Returns the pod with the resources that are allocated to it (R88). Default: the pod unchanged. */
  readonly allocatedPod?: (pod: Pod) => Pod;
  /** Decides when a worker that is due takes its turn. Default: in a microtask. */
  readonly turnGate?: TurnGate;
  /** Called with the duration of each step. */
  readonly observeStep?: (step: WorkType, durationMs: number) => void;
}

/** The requeue delays, and one deliberate difference from the kubelet. */
export interface PodWorkersOptions extends Partial<RequeueOptions> {
  /**
   * Calls the completion of a kill at once when there is nothing to kill: for a finished pod, for one that ends before it starts, and for
   * one that only the runtime knew. The kubelet leaves it open, and the caller runs into its timeout (R276). Default: false, as in the
   * kubelet.
   */
  readonly settleFinishedKills?: boolean;
}

/**
 * PodWorkers runs one worker per pod UID. Everything that happens to a pod on this node goes through its worker, one step at a time (R83).
 *
 * Follows kubelet `podWorkers`.
 *
 * @example
 * const workers = new PodWorkers({ clock, random, recorder, logger, syncer, cache, queue, allocatedPod: (pod) => pod });
 * workers.updatePod({ type: 'create', pod });
 */
export class PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #host: PodWorkerHost;
  readonly #logger: Logger;
  readonly #workers = new Map<string, PodWorker>();
  readonly #startGate = new StartGate();
  readonly #closing = new AbortController();
  /** True from the first {@link syncKnownPods} on (R123). */
  #podsSynced = false;

  constructor(deps: PodWorkersDeps, options: PodWorkersOptions = {}) {
    const { clock, random, recorder, syncer, cache, queue } = deps;
    this.#deps = deps;
    setMaxListeners(0, this.#closing.signal); // one listener for each worker that waits
    this.#logger = deps.logger ?? silentLogger;
    this.#host = {
      clock,
      random,
      recorder,
      logger: this.#logger,
      faults: new FaultLog(),
      syncer,
      cache,
      queue,
      turnGate: deps.turnGate ?? inMicrotask,
      startGate: this.#startGate,
      requeue: { ...requeueDefaults, ...options },
      settleFinishedKills: options.settleFinishedKills ?? false,
      closing: this.#closing.signal,
      observeStep: deps.observeStep,
      stateOf: (uid) => this.#workers.get(uid)?.state,
      forget: (uid) => void this.#workers.delete(uid),
    };
  }

  /** Sends an update to the pod's worker; the newest pending update replaces older ones (R84, R89…R100). Returns at once. */
  updatePod(options: UpdatePodOptions): void {
    const update = this.#accepted(options);
    const subject = update?.pod ?? update?.runningPod;
    if (!update || !subject) return;
    const uid = 'uid' in subject ? subject.uid : uidOf(subject);
    const present = this.#workers.get(uid);
    const worker = present ?? this.#newWorker(uid, update);
    worker.update(update, !present);
  }

  /** Validates an update: a pod that only the runtime knows can only be killed, and `pod` wins over `runningPod` (R89). */
  #accepted(options: UpdatePodOptions): UpdatePodOptions | undefined {
    const { pod, runningPod, ...rest } = options;
    const { allocatedPod } = this.#deps;
    if (pod) {
      if (runningPod)
        this.#logger.debug('runningPod ignored: the update names the pod too', { pod: keyOf(pod) });
      return { ...rest, pod: allocatedPod ? allocatedPod(pod) : pod };
    }
    if (runningPod && options.type === 'kill') return options;
    this.#logger.debug('update dropped: a pod without configuration can only be killed', {
      uid: runningPod?.uid,
    });
    return undefined;
  }

  #newWorker(uid: string, { pod, runningPod }: UpdatePodOptions): PodWorker {
    const fullName = pod ? fullNameOf(pod) : `${runningPod?.name ?? ''}_${runningPod?.namespace ?? ''}`;
    const now = this.#deps.clock.now();
    const ended = pod && isTerminalPhase(pod.status?.phase) && this.#isRuntimeIdle(uid);
    const state = ended ? firstStateOfEnded(fullName, now) : firstState(fullName, now);
    const worker = new PodWorker(uid, state, this.#host);
    this.#workers.set(uid, worker);
    if (pod && isStaticPod(pod)) this.#startGate.enlist(fullName, uid);
    return worker;
  }

  /** Whether nothing of the pod runs. False as well when the runtime status cannot be read (R90). */
  #isRuntimeIdle(uid: string): boolean {
    try {
      return isRuntimeIdle(this.#deps.cache.get(uid));
    } catch {
      return false;
    }
  }

  /**
   * Forgets finished pods that are not desired or whose UID was created again, terminates orphans, and returns the remaining workers by
   * UID. Called by housekeeping (R123…R127).
   *
   * @param desiredUids the UIDs of `desired`, for callers that have already computed them
   * @param syncs the map to fill and return, for callers that reuse one; entries of forgotten workers are removed
   */
  syncKnownPods(
    desired: readonly Pod[],
    desiredUids: Members = new Set(desired.map(uidOf)),
    syncs: Map<string, PodWorkerSync> = new Map<string, PodWorkerSync>(),
  ): Map<string, PodWorkerSync> {
    this.#podsSynced = true;
    this.#workers.forEach((worker, uid) => {
      const orphan = !desiredUids.has(uid);
      worker.sweep(orphan);
      if (this.#workers.has(uid)) syncs.set(uid, syncOf(worker.state, orphan));
    });
    if (syncs.size > this.#workers.size)
      syncs.forEach((_, uid) => {
        if (!this.#workers.has(uid)) syncs.delete(uid);
      });
    return syncs;
  }

  /** The state of every worker, for metrics. Unlike {@link syncKnownPods} it changes nothing. */
  working(desired: ReadonlySet<string>): readonly PodWorkerSync[] {
    return [...this.#workers].map(([uid, { state }]) => syncOf(state, !desired.has(uid)));
  }

  couldHaveRunningContainers(uid: string): boolean {
    return this.#query(uid).couldHaveRunningContainers;
  }

  shouldPodContainersBeTerminating(uid: string): boolean {
    return this.#query(uid).shouldPodContainersBeTerminating;
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#query(uid).shouldPodRuntimeBeRemoved;
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    return this.#query(uid).shouldPodContentBeRemoved;
  }

  shouldPodBeFinished(uid: string): boolean {
    return this.#query(uid).shouldPodBeFinished;
  }

  isPodTerminationRequested(uid: string): boolean {
    return this.#query(uid).isPodTerminationRequested;
  }

  isPodKnownTerminated(uid: string): boolean {
    return this.#query(uid).isPodKnownTerminated;
  }

  /** True while the static pod that holds the full name is terminating, so that its mirror pod is still needed (R122). */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.#startGate.started.get(fullName);
    return uid !== undefined && this.#workers.get(uid)?.state.phase === 'terminating';
  }

  /** The state of a UID; for debugging, metrics and tests. */
  stateOf(uid: string): PodState | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** True when the worker of `uid` is due to take a turn. */
  hasToken(uid: string): boolean {
    return this.#workers.get(uid)?.hasToken ?? false;
  }

  /** The UIDs that have a worker. */
  uids(): Iterable<string> {
    return this.#workers.keys();
  }

  /** The number of workers. */
  get size(): number {
    return this.#workers.size;
  }

  /** The static pods by full name: the UID that holds the name and those that wait for it. */
  get staticPods(): Pick<StartGate, 'started' | 'waiting'> {
    return this.#startGate;
  }

  /** Stops all workers: cancels the steps in flight and begins no other. Running containers are not touched. */
  close(): void {
    for (const worker of this.#workers.values()) worker.close();
    this.#closing.abort();
  }

  #query(uid: string): PodQueries {
    return queriesOf(this.#workers.get(uid)?.state, this.#podsSynced);
  }
}

const inMicrotask: TurnGate = (_uid, takeTurn) => {
  queueMicrotask(takeTurn);
};
