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
  /** The runtime as last seen (`PodCache`). `get` throws what the last inspection did. */
  readonly cache: {
    get(uid: string): RuntimePodStatus;
    getNewerThan(uid: string, newerThan: number, signal?: AbortSignal): Promise<RuntimePodStatus>;
  };
  /** Where the next look at a pod is planned (`DueQueue`). */
  readonly queue: { enqueue(uid: string, delayMs: number): void };
  readonly logger?: Logger;
  /** R88: the pod with the resources that are allocated to it. Default: the pod. */
  readonly allocatedPod?: (pod: Pod) => Pod;
  /** When a worker that is due may take its turn. Default: in a microtask. */
  readonly turnGate?: TurnGate;
  /** Told how long each step took. */
  readonly observeStep?: (step: WorkType, durationMs: number) => void;
}

/** Numbers of requeueing, and where we may be kinder than kubelet. */
export interface PodWorkersOptions extends Partial<RequeueOptions> {
  /**
   * Settle at once the completion of a kill that comes to nothing: of a finished pod, of one that ends before it starts, of one that only
   * the runtime knew. Kubelet leaves it open, and the killer runs into its time-out (R276). Default: false, as kubelet.
   */
  readonly settleFinishedKills?: boolean;
}

/**
 * One worker per pod UID; all that happens to a pod on this node goes through it, one step at a time (R83).
 *
 * Follows kubelet `podWorkers`.
 */
export class PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #host: PodWorkerHost;
  readonly #logger: Logger;
  readonly #workers = new Map<string, PodWorker>();
  readonly #startGate = new StartGate();
  readonly #closing = new AbortController();
  /** R123: the desired pods were told at least once. */
  #podsSynced = false;

  constructor(deps: PodWorkersDeps, options: PodWorkersOptions = {}) {
    const { clock, random, recorder, syncer, cache, queue } = deps;
    this.#deps = deps;
    setMaxListeners(0, this.#closing.signal); // one for each worker that waits
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

  /** Tells a pod's worker what is wanted; the newest word counts (R84, R89…R100). Returns at once. */
  updatePod(options: UpdatePodOptions): void {
    const update = this.#accepted(options);
    const subject = update?.pod ?? update?.runningPod;
    if (!update || !subject) return;
    const uid = 'uid' in subject ? subject.uid : uidOf(subject);
    const present = this.#workers.get(uid);
    const worker = present ?? this.#newWorker(uid, update);
    worker.update(update, !present);
  }

  /** R89: what only the runtime knows can only be killed; known configuration wins over a running pod. */
  #accepted(options: UpdatePodOptions): UpdatePodOptions | undefined {
    const { pod, runningPod, ...rest } = options;
    const { allocatedPod } = this.#deps;
    if (pod) {
      if (runningPod) this.#logger.debug('a running pod is ignored, the pod is known', { pod: keyOf(pod) });
      return { ...rest, pod: allocatedPod ? allocatedPod(pod) : pod };
    }
    if (runningPod && options.type === 'kill') return options;
    this.#logger.debug('an update without configuration that is no kill is dropped', {
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

  /** R90: what cannot be said counts as busy. */
  #isRuntimeIdle(uid: string): boolean {
    try {
      return isRuntimeIdle(this.#deps.cache.get(uid));
    } catch {
      return false;
    }
  }

  /**
   * Housekeeping: forgets finished pods that nobody wants or that were created anew, and drives orphans to their end.
   * What is left is returned by UID (R123…R127).
   *
   * @param wanted the UIDs of `desired`, where they are at hand
   * @param known what to return, if it is at hand: it takes what is left in place of what it had
   */
  syncKnownPods(
    desired: readonly Pod[],
    wanted: Members = new Set(desired.map(uidOf)),
    known: Map<string, PodWorkerSync> = new Map<string, PodWorkerSync>(),
  ): Map<string, PodWorkerSync> {
    this.#podsSynced = true;
    this.#workers.forEach((worker, uid) => {
      const orphan = !wanted.has(uid);
      worker.sweep(orphan);
      if (this.#workers.has(uid)) known.set(uid, syncOf(worker.state, orphan));
    });
    if (known.size > this.#workers.size)
      known.forEach((_, uid) => {
        if (!this.#workers.has(uid)) known.delete(uid);
      });
    return known;
  }

  /** What every worker is at, for metrics: nothing is swept. */
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

  /** R122: is the static pod that holds the name on its way out? Then its mirror is still of use. */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.#startGate.started.get(fullName);
    return uid !== undefined && this.#workers.get(uid)?.state.phase === 'terminating';
  }

  /** What is known of a UID; for debugging, metrics and tests. */
  stateOf(uid: string): PodState | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** Is the worker of `uid` due to take a turn? */
  hasToken(uid: string): boolean {
    return this.#workers.get(uid)?.hasToken ?? false;
  }

  /** UIDs with a record. */
  uids(): Iterable<string> {
    return this.#workers.keys();
  }

  /** How many UIDs are known. */
  get size(): number {
    return this.#workers.size;
  }

  /** Static pods by full name: who holds it, who waits for it. */
  get staticPods(): Pick<StartGate, 'started' | 'waiting'> {
    return this.#startGate;
  }

  /** The agent ends: steps in flight are cancelled and no other one begins. What runs in the runtime is left alone. */
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
