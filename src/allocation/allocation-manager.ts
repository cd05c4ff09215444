import { type Clock, steadyNow } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Members } from '../base/members.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';
import type { Pod, PodCondition } from '../kube/types.ts';
import { AllocationState } from './allocation-state.ts';
import { byTurn } from './pending-order.ts';
import { resizePendingMessage, resizeStartedMessage } from './resize-messages.ts';
import type { AdmitOperation, AdmitResult } from '../admission/admit-result.ts';

/** Why deferred resizes are retried, for metrics. */
export type ResizeTrigger =
  'pods_added' | 'pod_updated' | 'pods_removed' | 'pod_resized' | 'pod_terminated' | 'periodic_retry';

/** Stores the resize conditions by pod UID (`ResizeStatuses`). */
export interface ResizeConditionStore {
  conditions(uid: string): readonly PodCondition[];
  isDeferred(uid: string): boolean;
  /** Sets the pending condition. @returns true when it changed */
  setPending(uid: string, report: ResizeReport): boolean;
  clearPending(uid: string): void;
  setInProgress(uid: string, report: ResizeReport): unknown;
  clearInProgress(uid: string): unknown;
  /** Number of pods with conditions. */
  readonly size: number;
}

interface ResizeReport {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface AllocationManagerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly resizes: ResizeConditionStore;
  /** Runs admission (R129); `otherPods` have their allocated resources. */
  readonly admit: (
    pod: Pod,
    otherPods: () => readonly Pod[],
    operation: AdmitOperation,
  ) => AdmitResult | Promise<AdmitResult>;
  /** Returns the active pods as desired (R121). */
  readonly activePods: () => readonly Pod[];
  readonly podByUid: (uid: string) => Pod | undefined;
  /** Triggers a sync of the pod. */
  readonly syncPod: (pod: Pod) => void;
  /** Counts resizes that were deferred and then accepted; absent: not counted. */
  readonly deferredAccepted?: (trigger: ResizeTrigger) => void;
  readonly sourcesReady: { allReady(): boolean };
  /** Persists allocations; absent: they are lost when the agent ends. */
  readonly keeper?: ResourceKeeper;
}

/**
 * Delay before allocations of new pods are stored together, ms; until then a restart gives a pod the resources in its spec, as for a new
 * pod.
 */
const keepDelayMs = 1000;

/** Interval between retries of all deferred resizes, ms: before the sources are ready, and after (kubelet `retryDelay`). */
const retryMs = { initial: 30_000, later: 180_000 };

/**
 * AllocationManager allocates resources to pods: when they are added, and when they are resized. Resizes that do not fit are retried in
 * order.
 *
 * Follows kubelet `allocation.Manager`.
 */
export class AllocationManager {
  readonly #deps: AllocationManagerDeps;
  readonly #state: AllocationState;
  /** UIDs of pods with a pending resize, in retry order. */
  #pending: readonly string[] = [];
  /** Serializes decisions, as each depends on the allocations of the ones before. */
  #turn: Promise<unknown> = Promise.resolve();
  #nextRetryAt: number;
  /** True when there are allocations that are not stored yet. */
  #unsaved = false;
  /** Ends the wait of {@link run}; undefined while it does not wait. */
  #wake: (() => void) | undefined;

  constructor(deps: AllocationManagerDeps) {
    this.#deps = deps;
    this.#state = new AllocationState(deps.keeper?.before);
    this.#nextRetryAt = steadyNow(deps.clock) + retryMs.initial;
  }

  /** Returns the pod with its allocated resources; the same object when they equal its spec (R88). */
  allocatedPod(pod: Pod): Pod {
    return this.#state.allocatedPod(pod);
  }

  /** Returns the active pods with their allocated resources. */
  allocatedPods(): readonly Pod[] {
    return this.#deps.activePods().map((pod) => this.allocatedPod(pod));
  }

  /** True when every pod's allocation equals its spec; then the sums of both are equal, too. */
  get isSettled(): boolean {
    return this.#pending.length === 0 && this.#deps.resizes.size === 0;
  }

  /** Decides whether a pod may be added, with its previous allocation or otherwise its spec (R51, R52, R136). */
  addPod(pod: Pod): Promise<AdmitResult> {
    return this.#exclusively(async () => {
      const allocated = this.allocatedPod(pod);
      const verdict = await this.#deps.admit(allocated, () => this.#othersOf(pod), 'add');
      if (verdict.admit && !this.#state.get(uidOf(pod))) {
        this.#state.allocate(allocated);
        if (this.#deps.keeper && !this.#unsaved) {
          this.#unsaved = true;
          this.#wake?.();
        }
      }
      return verdict;
    });
  }

  removePod(uid: string): void {
    this.#state.remove(uid);
  }

  /** Removes the allocations of all other pods (R73). */
  removeOrphanedPods(remaining: Members): void {
    this.#state.retain(remaining);
  }

  /** True when the resources in the pod's spec differ from its allocation. */
  needsResize(pod: Pod): boolean {
    return this.allocatedPod(pod) !== pod;
  }

  /** Queues the pod's resize. */
  pushPendingResize(uid: string): void {
    void this.#exclusively(async () => {
      if (!this.#pending.includes(uid)) this.#pending = this.#inTurn([...this.#pending, uid]);
    });
  }

  #inTurn(uids: readonly string[]): readonly string[] {
    const { podByUid, resizes } = this.#deps;
    const waiting = uids.flatMap((uid) => {
      const pod = podByUid(uid);
      if (!pod) return [];
      const pendingCondition = resizes.conditions(uid).find(({ type }) => type === 'PodResizePending');
      const since = Date.parse(pendingCondition?.lastTransitionTime ?? '');
      return [{ pod, allocated: this.allocatedPod(pod), ...(Number.isFinite(since) && { since }) }];
    });
    return byTurn(waiting).map(({ pod }) => uidOf(pod));
  }

  get hasPendingResizes(): boolean {
    return this.#pending.length > 0;
  }

  /** Retries every pending resize in order (R55, R61, R65). */
  retryPendingResizes(trigger: ResizeTrigger): Promise<void> {
    return this.#exclusively(async () => {
      const { clock, sourcesReady, podByUid } = this.#deps;
      const ready = sourcesReady.allReady();
      this.#nextRetryAt = steadyNow(clock) + (ready ? retryMs.later : retryMs.initial);
      if (!ready) return;
      const stillPending: string[] = [];
      for (const uid of this.#pending) {
        const pod = podByUid(uid);
        if (pod && (await this.#tryResize(pod, trigger))) stillPending.push(uid);
      }
      this.#pending = stillPending;
    });
  }

  /** Tries one resize. @returns true when it stays pending */
  async #tryResize(pod: Pod, trigger: ResizeTrigger): Promise<boolean> {
    const { resizes, logger, syncPod } = this.#deps;
    const uid = uidOf(pod);
    const before = resizes.conditions(uid);
    const wasDeferred = resizes.isDeferred(uid);
    let allocated = false;
    let waits = true;
    try {
      allocated = await this.#handleResize(pod);
      waits = resizes.isDeferred(uid);
      if (wasDeferred && allocated) this.#deps.deferredAccepted?.(trigger);
    } catch (reason) {
      logger.error('resize could not be handled', { pod: keyOf(pod), uid, err: messageOf(reason) });
    }
    if (allocated || !sameConditions(before, resizes.conditions(uid))) syncPod(pod);
    return waits;
  }

  /** @returns true when the allocation was updated. Follows kubelet `handlePodResourcesResize` */
  async #handleResize(pod: Pod): Promise<boolean> {
    const { resizes, admit } = this.#deps;
    const uid = uidOf(pod);
    if (!this.needsResize(pod)) {
      resizes.clearPending(uid);
      return false;
    }
    const verdict = await admit(pod, () => this.#othersOf(pod), 'resize');
    if (verdict.admit) {
      await this.#allocate(pod);
      return true;
    }
    if (verdict.reason !== '') this.#tellPending(pod, verdict);
    return false;
  }

  /** Stores the allocation before it is applied, so that the next agent completes it. */
  async #allocate(pod: Pod): Promise<void> {
    const { resizes, recorder, keeper } = this.#deps;
    const uid = uidOf(pod);
    const observedGeneration = pod.metadata?.generation ?? 0;
    const before = this.#state.get(uid);
    this.#state.allocate(pod);
    try {
      await keeper?.save(() => this.#state.snapshot());
    } catch (reason) {
      if (before) this.#state.set(uid, before);
      throw reason;
    }
    resizes.clearPending(uid);
    resizes.clearInProgress(uid);
    resizes.setInProgress(uid, { reason: '', message: '', observedGeneration });
    recorder.event(pod, 'Normal', 'ResizeStarted', resizeStartedMessage(pod, observedGeneration));
  }

  #tellPending(pod: Pod, { reason, message }: AdmitResult): void {
    const { resizes, recorder } = this.#deps;
    const observedGeneration = pod.metadata?.generation ?? 0;
    if (!resizes.setPending(uidOf(pod), { reason, message, observedGeneration })) return;
    const event = reason === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred';
    recorder.event(pod, 'Warning', event, resizePendingMessage(pod, observedGeneration, { reason, message }));
  }

  #othersOf(pod: Pod): readonly Pod[] {
    const uid = uidOf(pod);
    return this.allocatedPods().filter((other) => uidOf(other) !== uid);
  }

  /** Retries pending resizes periodically and stores new allocations, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!isAborted(signal)) {
      const waitMs = this.#nextRetryAt - steadyNow(clock);
      if (waitMs <= 0) await this.retryPendingResizes('periodic_retry');
      else if (this.#unsaved) {
        await clock.sleep(Math.min(keepDelayMs, waitMs), signal).catch(() => undefined);
        await this.#save();
      } else await this.#idle(waitMs, signal);
    }
    await this.#save();
  }

  /** Resolves after `ms`, when there is an allocation to store, or when `signal` aborts. */
  #idle(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        resolve();
      };
      const stop = this.#deps.clock.timer(ms, done);
      signal.addEventListener('abort', done, { once: true });
      this.#wake = done;
    });
  }

  /** Stores all allocations; a failure is logged, as the next write includes everything. */
  async #save(): Promise<void> {
    if (!this.#unsaved) return;
    this.#unsaved = false;
    try {
      await this.#deps.keeper?.save(() => this.#state.snapshot());
    } catch (reason) {
      this.#deps.logger.error('allocated resources could not be stored', { err: messageOf(reason) });
    }
  }

  #exclusively<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

/** Compares conditions without their times. */
const sameConditions = (a: readonly PodCondition[], b: readonly PodCondition[]): boolean =>
  a.length === b.length &&
  a.every((one, at) => {
    const other = b[at];
    return (
      one.type === other?.type &&
      one.reason === other.reason &&
      one.message === other.message &&
      one.observedGeneration === other.observedGeneration
    );
  });
