import { type Clock, steadyNow } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { FaultLog } from '../base/fault-log.ts';
import type { Logger } from '../base/logger.ts';
import { jitter, type Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { PodSyncer, SyncPodOutcome } from './pod-syncer.ts';
import { requeueDelay, requeueJitter, type RequeueOptions, type StepEnd } from './requeue.ts';
import type { GateAnswer, StartGate } from './start-gate.ts';
import type { PodState, WorkType } from './state.ts';
import { type PodEffect, type PodEvent, transition } from './transition.ts';
import type { UpdatePodOptions, Work } from './updates.ts';

/** Decides when a worker that is due runs: calls `takeTurn` once, now or later. Default: in a microtask. */
export type TurnGate = (uid: string, takeTurn: () => void) => void;

/** The dependencies and settings that all workers share. */
export interface PodWorkerHost {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  /** Remembers which errors were already logged with their stack. */
  readonly faults: FaultLog;
  readonly syncer: PodSyncer;
  readonly cache: {
    getNewerThan(uid: string, newerThan: number, signal?: AbortSignal): Promise<RuntimePodStatus>;
  };
  readonly queue: { enqueue(uid: string, delayMs: number): void };
  readonly turnGate: TurnGate;
  readonly startGate: StartGate;
  readonly requeue: RequeueOptions;
  /** Calls the completions that the kubelet leaves open for ever (R276). */
  readonly settleFinishedKills: boolean;
  /** Aborts when the agent stops: pending waits for a newer runtime status end then. */
  readonly closing: AbortSignal;
  readonly observeStep: ((step: WorkType, durationMs: number) => void) | undefined;
  readonly stateOf: (uid: string) => PodState | undefined;
  readonly forget: (uid: string) => void;
}

const done: SyncPodOutcome = { terminal: false };

/**
 * PodWorker is the actor for one pod UID. Each event changes the state at once and wakes the worker. The worker takes turns: in each turn
 * it takes the pending update and runs one step. An idle worker holds no promise, timer or closure.
 *
 * Follows kubelet `podWorkerLoop`.
 */
export class PodWorker {
  readonly uid: string;
  readonly #host: PodWorkerHost;
  #state: PodState;
  /** True when a turn is due. Further wake-ups before that turn have no effect (R99). */
  #token = false;
  #inFlight: AbortController | undefined;
  /** When the previous step ended; the next step waits for a runtime status newer than this (R112). */
  #lastSyncAt = -Infinity;
  #retired = false;

  constructor(uid: string, state: PodState, host: PodWorkerHost) {
    this.uid = uid;
    this.#state = state;
    this.#host = host;
  }

  get state(): PodState {
    return this.#state;
  }

  /** True when a turn is due and has not been taken. */
  get hasToken(): boolean {
    return this.#token;
  }

  update(options: UpdatePodOptions, firstSight: boolean): void {
    this.#send({ type: 'update', options, firstSight });
  }

  /** Housekeeping reports whether the pod is desired. Without effect on a desired pod, unless its UID was created again (R124). */
  sweep(orphan: boolean): void {
    const restartRequested = this.#state.phase !== 'sync' && this.#state.restartRequested;
    if (orphan || restartRequested) this.#send({ type: 'swept', orphan });
  }

  /** Stops the worker: cancels the step in flight; no other step begins. */
  close(): void {
    this.#retired = true;
    this.#token = false;
    this.#inFlight?.abort();
  }

  #send(event: PodEvent): void {
    const outcome = transition(this.#state, event, this.#host.clock.now());
    const next = outcome[0];
    if (next) this.#state = next;
    outcome[1].forEach((effect) => {
      this.#perform(effect);
    });
    if (!next) this.#host.forget(this.uid);
  }

  #perform(effect: PodEffect): void {
    switch (effect.type) {
      case 'wake':
        this.#wake();
        return;
      case 'cancel':
        this.#inFlight?.abort();
        return;
      case 'run':
        void this.#run(effect.step, effect.work);
        return;
      case 'settle':
        for (const completed of effect.completions) completed();
        return;
      case 'abandon':
        if (this.#host.settleFinishedKills) for (const completed of effect.completions) completed();
        return;
      case 'retire':
        this.#retired = true;
        this.#token = false;
        this.#host.startGate.release(this.#state.fullName, this.uid);
        return;
    }
  }

  #wake(): void {
    if (this.#token || this.#retired) return;
    this.#token = true;
    if (!this.#inFlight) this.#awaitTurn();
  }

  #awaitTurn(): void {
    this.#host.turnGate(this.uid, () => {
      if (!this.#token || this.#retired || this.#inFlight) return;
      this.#token = false;
      this.#send({ type: 'turn', gate: this.#askStartGate() });
    });
  }

  /**
   * Asks the start gate whether the pod may start. A pod that has started, or that only the runtime knows, needs no permission (R107…R109,
   * R111).
   */
  #askStartGate(): GateAnswer {
    const { startedAt, pending } = this.#state;
    if (startedAt !== undefined || !pending?.pod) return 'start';
    const { startGate, queue, requeue, random, stateOf } = this.#host;
    const answer = startGate.ask(pending.pod, stateOf);
    if (answer === 'wait') queue.enqueue(this.uid, jitter(random, requeue.backoffMs, requeueJitter));
    return answer;
  }

  async #run(step: WorkType, work: Work): Promise<void> {
    const inFlight = new AbortController();
    this.#inFlight = inFlight;
    const { terminal, error, postSync } = await this.#attempt(step, work, inFlight.signal);
    this.#logEnd(step, work, error, inFlight.signal);
    postSync?.();
    const transitioned = error === undefined && this.#advance(step, work, terminal);
    if (!this.#retired) this.#planNext({ transitioned, error });
    this.#inFlight = undefined;
    if (this.#token) this.#awaitTurn();
  }

  /** Logs a failed step as an error. A cancelled step also counts as failed for the requeue, but is logged at debug level only. */
  #logEnd(step: WorkType, work: Work, error: Error | undefined, signal: AbortSignal): void {
    const { faults, logger } = this.#host;
    if (error === undefined) {
      faults.clear(this.uid);
      return;
    }
    const fields = { pod: nameOfWork(work), uid: this.uid, step };
    if (signal.aborted || this.#retired) {
      logger.debug('pod step cancelled', { ...fields, err: messageOf(error) });
      return;
    }
    logger.error('error syncing pod, skipping', { ...fields, ...faults.fieldsOf(this.uid, error) });
  }

  /** Schedules the next sync of the pod after a step, with jitter (R117, R119). */
  #planNext(end: StepEnd): void {
    const { clock, queue, random, requeue } = this.#host;
    const delayMs = requeueDelay(end, requeue, clock.now());
    queue.enqueue(this.uid, delayMs > 0 ? jitter(random, delayMs, requeueJitter) : 0);
    this.#send({ type: 'stepDone' });
  }

  /** Moves the pod to its next phase after a successful step. Returns true when the phase changed (R115). */
  #advance(step: WorkType, work: Work, terminal: boolean): boolean {
    switch (step) {
      case 'terminated':
        this.#send({ type: 'cleanedUp' });
        return true;
      case 'terminating':
        this.#send({ type: work.runningPod ? 'runtimePodStopped' : 'stopped' });
        return true;
      case 'sync':
        if (terminal) this.#send({ type: 'ended' });
        return terminal;
    }
  }

  async #attempt(step: WorkType, work: Work, signal: AbortSignal): Promise<SyncPodOutcome> {
    const { cache, clock, closing, observeStep } = this.#host;
    let runtimeStatus: RuntimePodStatus | undefined;
    if (work.pod) {
      try {
        runtimeStatus = await cache.getNewerThan(this.uid, this.#lastSyncAt, closing); // R112
      } catch (reason) {
        return this.#notObserved(work.pod, reason);
      }
    }
    const startedAt = observeStep && steadyNow(clock);
    try {
      return (await this.#call(step, work, runtimeStatus, signal)) ?? done;
    } catch (reason) {
      return { terminal: false, error: errorOf(reason) };
    } finally {
      this.#lastSyncAt = steadyNow(clock);
      if (startedAt !== undefined) observeStep?.(step, this.#lastSyncAt - startedAt);
    }
  }

  /** A cache that cannot observe the pod is reported as a `FailedSync` Event and counts as the step's error (R112). */
  #notObserved(pod: Pod, reason: unknown): SyncPodOutcome {
    const message = `error determining status: ${messageOf(reason)}`;
    if (!this.#retired) this.#host.recorder.event(pod, 'Warning', 'FailedSync', message);
    return { terminal: false, error: errorOf(reason) };
  }

  /** Calls the syncer's method for the step (R113). */
  #call(
    step: WorkType,
    work: Work,
    runtimeStatus: RuntimePodStatus | undefined,
    signal: AbortSignal,
  ): Promise<SyncPodOutcome | undefined> | Promise<void> {
    const { syncer } = this.#host;
    if (step === 'terminating') this.#send({ type: 'terminatingStarted' });
    if (work.runningPod) return syncer.syncTerminatingRuntimePod(work.runningPod, signal);
    const { pod, mirrorPod, type: updateType, kill } = work;
    if (!runtimeStatus)
      throw new TypeError('a pod with configuration cannot be synced without a runtime status');
    switch (step) {
      case 'sync':
        return syncer.syncPod({ pod, runtimeStatus, updateType, mirrorPod }, signal);
      case 'terminating': {
        const statusFn = this.#state.phase === 'terminating' ? this.#state.statusFns.at(-1) : undefined;
        const gracePeriodSeconds = kill?.gracePeriodSeconds;
        return syncer.syncTerminatingPod({ pod, runtimeStatus, gracePeriodSeconds, statusFn }, signal);
      }
      case 'terminated':
        return syncer.syncTerminatedPod({ pod, runtimeStatus }, signal);
    }
  }
}

/** `namespace/name` */
const nameOfWork = ({ pod, runningPod }: Work): string =>
  pod ? keyOf(pod) : `${runningPod.namespace}/${runningPod.name}`;

const errorOf = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(messageOf(reason)));
