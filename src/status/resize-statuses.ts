import type { Clock } from '../base/clock.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, PodCondition } from '../kube/types.ts';
import {
  inProgressChanged,
  inProgressCondition,
  pendingChanged,
  pendingCondition,
  pendingReason,
  resizeConditionList,
  type ResizeConditions,
  reportOf,
  resizeConditionsOf,
  type ResizeReport,
} from './resize-conditions.ts';
import { rfc3339 } from '../kube/time.ts';

/** Which resizes wait and which are carried out, by pod UID (R139, R215). */
export class ResizeStatuses {
  readonly #clock: Clock;
  readonly #byUid = new Map<string, ResizeConditions>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of how many pods something is told. */
  get size(): number {
    return this.#byUid.size;
  }

  /** How many resizes wait, by reason, and how many are carried out. */
  tally(): { readonly pending: ReadonlyMap<string, number>; readonly inProgress: number } {
    const reasons = new Map<string, number>();
    let running = 0;
    for (const { pending, inProgress } of this.#byUid.values()) {
      if (pending?.reason) reasons.set(pending.reason, (reasons.get(pending.reason) ?? 0) + 1);
      if (inProgress) running++;
    }
    return { pending: reasons, inProgress: running };
  }

  /** The pod's resize conditions in the order of its status. */
  conditions(uid: string): readonly PodCondition[] {
    return resizeConditionList(this.#byUid.get(uid) ?? {});
  }

  /** Does the resize never fit this node? */
  isInfeasible(uid: string): boolean {
    return this.#byUid.get(uid)?.pending?.reason === 'Infeasible';
  }

  /** Does the resize not fit now? */
  isDeferred(uid: string): boolean {
    return this.#byUid.get(uid)?.pending?.reason === 'Deferred';
  }

  /** Notes that a resize waits. Tells whether that is news. */
  setPending(uid: string, report: ResizeReport): boolean {
    return this.#setPending(uid, { ...report, reason: pendingReason(report.reason) });
  }

  #setPending(uid: string, report: ResizeReport): boolean {
    const held = this.#byUid.get(uid);
    const pending = pendingCondition(held?.pending, report, rfc3339(this.#clock.now()));
    this.#byUid.set(uid, { ...held, pending });
    return pendingChanged(held?.pending, pending);
  }

  /** Notes that a resize is carried out. Tells whether that is news, and since which generation it goes on. */
  setInProgress(
    uid: string,
    report: ResizeReport,
  ): { readonly changed: boolean; readonly observedGeneration: number } {
    const held = this.#byUid.get(uid);
    const inProgress = inProgressCondition(held?.inProgress, report, rfc3339(this.#clock.now()));
    this.#byUid.set(uid, { ...held, inProgress });
    return {
      changed: inProgressChanged(held?.inProgress, inProgress),
      observedGeneration: inProgress.observedGeneration ?? 0,
    };
  }

  clearPending(uid: string): void {
    this.#keep(uid, { inProgress: this.#byUid.get(uid)?.inProgress });
  }

  /** @returns whether there was one, and the generation that it was for */
  clearInProgress(uid: string): { readonly cleared: boolean; readonly observedGeneration: number } {
    const held = this.#byUid.get(uid);
    this.#keep(uid, { pending: held?.pending });
    return {
      cleared: held?.inProgress !== undefined,
      observedGeneration: held?.inProgress?.observedGeneration ?? 0,
    };
  }

  /** R55: after a start, what the API remembers stands until something newer is known. */
  backfill(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const { pending, inProgress } = resizeConditionsOf(pod);
      if (pending) this.#setPending(uidOf(pod), reportOf(pending));
      if (inProgress) this.setInProgress(uidOf(pod), reportOf(inProgress));
    }
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }

  #keep(uid: string, conditions: ResizeConditions): void {
    if (conditions.pending ?? conditions.inProgress) this.#byUid.set(uid, conditions);
    else this.#byUid.delete(uid);
  }
}
