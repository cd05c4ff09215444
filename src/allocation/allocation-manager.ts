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

/** Why waiting resizes are tried again, as metrics name it. */
export type ResizeTrigger =
  'pods_added' | 'pod_updated' | 'pods_removed' | 'pod_resized' | 'pod_terminated' | 'periodic_retry';

/** What is told of resizes, by pod UID (`ResizeStatuses`). */
export interface ResizeConditionStore {
  conditions(uid: string): readonly PodCondition[];
  isDeferred(uid: string): boolean;
  /** @returns whether that is news */
  setPending(uid: string, report: ResizeTold): boolean;
  clearPending(uid: string): void;
  setInProgress(uid: string, report: ResizeTold): unknown;
  clearInProgress(uid: string): unknown;
  /** Pods of which anything is told. */
  readonly size: number;
}

interface ResizeTold {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface AllocationManagerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly resizes: ResizeConditionStore;
  /** R129; `otherPods` are those with resources, as allocated. */
  readonly admit: (
    pod: Pod,
    otherPods: () => readonly Pod[],
    operation: AdmitOperation,
  ) => AdmitResult | Promise<AdmitResult>;
  /** R121: pods that take up room, as desired. */
  readonly activePods: () => readonly Pod[];
  readonly podByUid: (uid: string) => Pod | undefined;
  /** Has the pod looked at soon. */
  readonly syncPod: (pod: Pod) => void;
  /** Counts resizes that were put off and then accepted; absent: nobody does. */
  readonly deferredAccepted?: (trigger: ResizeTrigger) => void;
  readonly sourcesReady: { allReady(): boolean };
  /** Absent: allocations end with the agent. */
  readonly keeper?: ResourceKeeper;
}

/** Allocations of new pods are kept together, after so many ms: until then a pod has what it asks for, as one that is new has anyway. */
const keepDelayMs = 1000;

/** Between two tries of all waiting resizes, ms: before the sources are ready, and then (kubelet `retryDelay`). */
const retryMs = { initial: 30_000, later: 180_000 };

/**
 * Gives pods their resources: when they come, and when they are to change their size. What does not fit now waits its turn.
 *
 * Follows kubelet `allocation.Manager`.
 */
export class AllocationManager {
  readonly #deps: AllocationManagerDeps;
  readonly #state: AllocationState;
  /** UIDs of pods whose resize waits, in the order of their turns. */
  #pending: readonly string[] = [];
  /** One decision at a time: each counts on what the one before gave away. */
  #turn: Promise<unknown> = Promise.resolve();
  #nextRetryAt: number;
  /** Are there allocations that are not kept yet? */
  #unkept = false;
  #wake = new AbortController();

  constructor(deps: AllocationManagerDeps) {
    this.#deps = deps;
    this.#state = new AllocationState(deps.keeper?.before);
    this.#nextRetryAt = steadyNow(deps.clock) + retryMs.initial;
  }

  /** R88: the pod with the resources that it was given; the very same pod where these are what it asks for. */
  allocatedPod(pod: Pod): Pod {
    return this.#state.allocatedPod(pod);
  }

  /** Active pods, as allocated. */
  allocatedPods(): readonly Pod[] {
    return this.#deps.activePods().map((pod) => this.allocatedPod(pod));
  }

  /** Has every pod what it asks for? Then what is asked for together is what was given together. */
  get isSettled(): boolean {
    return this.#pending.length === 0 && this.#deps.resizes.size === 0;
  }

  /** R51, R52, R136: may the pod come, with what it was given before or else with what it asks for? */
  addPod(pod: Pod): Promise<AdmitResult> {
    return this.#exclusively(async () => {
      const allocated = this.allocatedPod(pod);
      const verdict = await this.#deps.admit(allocated, () => this.#othersOf(pod), 'add');
      if (verdict.admit && !this.#state.get(uidOf(pod))) {
        this.#state.allocate(allocated);
        if (!this.#unkept) this.#wake.abort();
        this.#unkept = true;
      }
      return verdict;
    });
  }

  removePod(uid: string): void {
    this.#state.remove(uid);
  }

  /** R73. */
  removeOrphanedPods(remaining: Members): void {
    this.#state.retain(remaining);
  }

  /** Has another size been asked for than the pod was given? */
  needsResize(pod: Pod): boolean {
    return this.allocatedPod(pod) !== pod;
  }

  /** The pod's resize is to be tried; it waits its turn. */
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
      const told = resizes.conditions(uid).find(({ type }) => type === 'PodResizePending');
      const since = Date.parse(told?.lastTransitionTime ?? '');
      return [{ pod, allocated: this.allocatedPod(pod), ...(Number.isFinite(since) && { since }) }];
    });
    return byTurn(waiting).map(({ pod }) => uidOf(pod));
  }

  get hasPendingResizes(): boolean {
    return this.#pending.length > 0;
  }

  /** Tries every resize that waits, in turn (R55, R61, R65). */
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

  /** @returns whether it has to wait on */
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

  /** @returns whether the pod was given what it asks for. Follows kubelet `handlePodResourcesResize` */
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

  /** Kept before anything is done about it, so that the next agent finishes it. */
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

  /** Tries waiting resizes from time to time and keeps new allocations, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!isAborted(signal)) {
      const waitMs = this.#nextRetryAt - steadyNow(clock);
      if (waitMs <= 0) await this.retryPendingResizes('periodic_retry');
      else if (this.#unkept) {
        await clock.sleep(Math.min(keepDelayMs, waitMs), signal).catch(() => undefined);
        await this.#keep();
      } else {
        this.#wake = new AbortController();
        await clock.sleep(waitMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => undefined);
      }
    }
    await this.#keep();
  }

  /** A failure is logged: the next write tells all. */
  async #keep(): Promise<void> {
    if (!this.#unkept) return;
    this.#unkept = false;
    try {
      await this.#deps.keeper?.save(() => this.#state.snapshot());
    } catch (reason) {
      this.#deps.logger.error('allocated resources could not be kept', { err: messageOf(reason) });
    }
  }

  #exclusively<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

/** Times do not count. */
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
