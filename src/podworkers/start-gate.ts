import { isStaticPod, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodState } from './state.ts';

/** What the start gate says of a pod that has not started yet (R107…R109). */
export type GateAnswer = 'start' | 'wait' | 'never';

/** As much of a pod's state as the gate looks at. */
export type GateState = Pick<PodState, 'fullName' | 'phase'>;

/**
 * Lets static pods of one full name start one at a time, in the order in which they were first seen (R98, R107…R110).
 *
 * Follows kubelet `allowStaticPodStart`.
 */
export class StartGate {
  readonly #startedBy = new Map<string, string>();
  readonly #waiting = new Map<string, readonly string[]>();

  /** Full name → the UID that holds it. */
  get started(): ReadonlyMap<string, string> {
    return this.#startedBy;
  }

  /** Full name → UIDs in order of arrival; a UID that was forgotten and came again stands there twice. */
  get waiting(): ReadonlyMap<string, readonly string[]> {
    return this.#waiting;
  }

  /** A static pod was seen for the first time. */
  enlist(fullName: string, uid: string): void {
    this.#waiting.set(fullName, [...(this.#waiting.get(fullName) ?? []), uid]);
  }

  /**
   * May the pod start? A pod that is not static always may; a static one that is to end already never may.
   *
   * Follows kubelet `allowPodStart`.
   */
  ask(pod: Pod, stateOf: (uid: string) => GateState | undefined): GateAnswer {
    if (!isStaticPod(pod)) return 'start';
    const uid = uidOf(pod);
    const state = stateOf(uid);
    if (state?.phase !== 'sync') return 'never';
    return this.#tryStart(state.fullName, uid, (other) => stateOf(other)?.phase === 'sync')
      ? 'start'
      : 'wait';
  }

  /**
   * May `uid` start now? If so it holds the full name from here on.
   *
   * The list is trimmed as it is walked: whoever `mayStillStart` denies and stands before the first live UID is dropped. A list without
   * a live UID is left alone, and the pod starts (R109).
   */
  #tryStart(fullName: string, uid: string, mayStillStart: (uid: string) => boolean): boolean {
    const holder = this.#startedBy.get(fullName);
    if (holder !== undefined) return holder === uid;
    const waiting = this.#waiting.get(fullName) ?? [];
    const next = waiting.findIndex(mayStillStart);
    const isNext = next === -1 || waiting[next] === uid;
    this.#keep(fullName, next === -1 ? waiting : waiting.slice(isNext ? next + 1 : next));
    if (isNext) this.#startedBy.set(fullName, uid);
    return isNext;
  }

  /** R110: the holder is over; anyone else's word changes nothing. */
  release(fullName: string, uid: string): void {
    if (this.#startedBy.get(fullName) === uid) this.#startedBy.delete(fullName);
  }

  #keep(fullName: string, waiting: readonly string[]): void {
    if (waiting.length > 0) this.#waiting.set(fullName, waiting);
    else this.#waiting.delete(fullName);
  }
}
