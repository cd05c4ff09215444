import { type Clock, type StopTimer, steadyNow } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { uidOf } from '../kube/names.ts';
import type { PodStatus } from '../kube/types.ts';
import { beginAttempt, endAttempt, newWorker, type ProbeTarget, type WorkerState } from './probe-step.ts';
import type { ProbeResults } from './results.ts';

/** The dependencies of {@link ProbeWorker}. */
export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly results: ProbeResults;
  /** When the probe manager was created, ms since the epoch. */
  readonly managerStartedAt: number;
  /** The pod's newest status. */
  statusOf(uid: string): PodStatus | undefined;
  /** Runs the probe; returns `undefined` when it could not be run. Never throws. */
  probe(
    target: ProbeTarget,
    status: PodStatus,
    containerId: string,
  ): Promise<'Success' | 'Failure' | undefined>;
  /** Called when the worker has ended and removed its result. */
  onEnd(): void;
}

const defaultPeriodSeconds = 10;

/**
 * ProbeWorker runs one probe of one container: one attempt per period, never two at once. It holds only one timer.
 *
 * Follows kubelet `prober.worker`.
 */
export class ProbeWorker {
  readonly #target: ProbeTarget;
  readonly #deps: ProbeWorkerDeps;
  readonly #periodMs: number;
  #state: WorkerState = newWorker;
  #stopTimer: StopTimer | undefined;
  #nextAt = 0;
  #attempting = false;
  #probeRequested = false;
  #stopped = false;
  #ended = false;

  constructor(target: ProbeTarget, deps: ProbeWorkerDeps) {
    this.#target = target;
    this.#deps = deps;
    this.#periodMs = (target.probe.periodSeconds ?? defaultPeriodSeconds) * 1000;
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** Starts the worker: at once, or shortly after the agent's start after a random part of the period, so that probes spread out (R240). */
  start(): void {
    const { clock, random, managerStartedAt } = this.#deps;
    const recent = clock.now() - managerStartedAt < this.#periodMs;
    const delayMs = recent ? random.float() * this.#periodMs : 0;
    this.#nextAt = steadyNow(clock) + delayMs;
    if (delayMs > 0) this.#wait();
    else this.#tick();
  }

  /** Stops the worker: at once, or after the attempt in flight. */
  stop(): void {
    this.#stopped = true;
    if (!this.#attempting) this.#end();
  }

  /** Runs an attempt at once, and the next ones every period from then on. */
  probeNow(): void {
    if (this.#attempting) this.#probeRequested = true;
    else if (!this.#ended) {
      this.#nextAt = steadyNow(this.#deps.clock);
      this.#tick();
    }
  }

  #wait(): void {
    const { clock } = this.#deps;
    this.#stopTimer = clock.timer(Math.max(0, this.#nextAt - steadyNow(clock)), () => {
      this.#tick();
    });
  }

  #tick(): void {
    this.#stopTimer?.();
    this.#nextAt += this.#periodMs;
    this.#attempting = true;
    void this.attempt().then((keepGoing) => {
      this.#attempting = false;
      if (!keepGoing || this.#stopped) {
        this.#end();
        return;
      }
      this.#plan();
    });
  }

  /** Schedules the next attempt. When a slow probe has overrun periods, one attempt is made up at once. */
  #plan(): void {
    const now = steadyNow(this.#deps.clock);
    if (this.#probeRequested) {
      this.#probeRequested = false;
      this.#nextAt = now;
      this.#tick();
      return;
    }
    if (this.#nextAt + this.#periodMs <= now)
      this.#nextAt += Math.floor((now - this.#nextAt) / this.#periodMs) * this.#periodMs;
    this.#wait();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopTimer?.();
    if (this.#state.containerId !== '') this.#deps.results.remove(this.#state.containerId);
    this.#deps.onEnd();
  }

  /** Runs one attempt. @returns false when the worker has to stop */
  async attempt(): Promise<boolean> {
    const { clock, results, managerStartedAt } = this.#deps;
    const uid = uidOf(this.#target.pod);
    const status = this.#deps.statusOf(uid);
    const start = beginAttempt(this.#target, this.#state, { status, now: clock.now(), managerStartedAt });
    this.#state = start.state;
    for (const change of start.changes)
      if ('remove' in change) results.remove(change.remove);
      else results.set(change.set, change.result, uid);
    if (start.next !== 'probe' || !status) return start.next !== 'end';
    const { containerId } = start.state;
    const result = await this.#deps.probe(this.#target, status, containerId);
    if (!result) return true;
    const end = endAttempt(this.#target, this.#state, result);
    this.#state = end.state;
    if (end.set) results.set(containerId, end.set, uid);
    return true;
  }
}
