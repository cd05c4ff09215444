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

/** ResizeStatuses holds the pending resizes and those in progress, by pod UID (R139, R215). */
export class ResizeStatuses {
  readonly #clock: Clock;
  readonly #byUid = new Map<string, ResizeConditions>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of pods with a resize condition. */
  get size(): number {
    return this.#byUid.size;
  }

  /** The number of pending resizes by reason, and of resizes in progress. */
  tally(): { readonly pending: ReadonlyMap<string, number>; readonly inProgress: number } {
    const reasons = new Map<string, number>();
    let running = 0;
    for (const { pending, inProgress } of this.#byUid.values()) {
      if (pending?.reason) reasons.set(pending.reason, (reasons.get(pending.reason) ?? 0) + 1);
      if (inProgress) running++;
    }
    return { pending: reasons, inProgress: running };
  }

  /** The pod's resize conditions, in the order in which the status lists them. */
  conditions(uid: string): readonly PodCondition[] {
    return resizeConditionList(this.#byUid.get(uid) ?? {});
  }

  /** True when the pod's resize can never fit this node. */
  isInfeasible(uid: string): boolean {
    return this.#byUid.get(uid)?.pending?.reason === 'Infeasible';
  }

  /** True when the pod's resize does not fit this node at present. */
  isDeferred(uid: string): boolean {
    return this.#byUid.get(uid)?.pending?.reason === 'Deferred';
  }

  /** Records a pending resize. Returns whether the condition changed. */
  setPending(uid: string, report: ResizeReport): boolean {
    return this.#setPending(uid, { ...report, reason: pendingReason(report.reason) });
  }

  #setPending(uid: string, report: ResizeReport): boolean {
    const entry = this.#byUid.get(uid);
    const pending = pendingCondition(entry?.pending, report, rfc3339(this.#clock.now()));
    this.#byUid.set(uid, { ...entry, pending });
    return pendingChanged(entry?.pending, pending);
  }

  /** Records a resize in progress. Returns whether the condition changed, and the generation at which the resize began. */
  setInProgress(
    uid: string,
    report: ResizeReport,
  ): { readonly changed: boolean; readonly observedGeneration: number } {
    const entry = this.#byUid.get(uid);
    const inProgress = inProgressCondition(entry?.inProgress, report, rfc3339(this.#clock.now()));
    this.#byUid.set(uid, { ...entry, inProgress });
    return {
      changed: inProgressChanged(entry?.inProgress, inProgress),
      observedGeneration: inProgress.observedGeneration ?? 0,
    };
  }

  clearPending(uid: string): void {
    this.#keep(uid, { inProgress: this.#byUid.get(uid)?.inProgress });
  }

  /** Removes the resize in progress. Returns whether there was one, and its generation. */
  clearInProgress(uid: string): { readonly cleared: boolean; readonly observedGeneration: number } {
    const entry = this.#byUid.get(uid);
    this.#keep(uid, { pending: entry?.pending });
    return {
      cleared: entry?.inProgress !== undefined,
      observedGeneration: entry?.inProgress?.observedGeneration ?? 0,
    };
  }

  /** Takes over the resize conditions in the API after a start of the agent, until newer ones are set (R55). */
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
