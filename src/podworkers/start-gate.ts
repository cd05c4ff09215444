import { isStaticPod, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodState } from './state.ts';

/** The start gate's decision about a pod that has not started yet (R107…R109). */
export type GateAnswer = 'start' | 'wait' | 'never';

/** The part of a pod's state that the gate needs. */
export type GateState = Pick<PodState, 'fullName' | 'phase'>;

/**
 * StartGate lets static pods with the same full name start one at a time, in the order in which they were first seen (R98, R107…R110).
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

  /** Full name → UIDs in order of arrival. A UID that was forgotten and came again appears twice. */
  get waiting(): ReadonlyMap<string, readonly string[]> {
    return this.#waiting;
  }

  /** Adds a static pod that is seen for the first time to the waiting list of its full name. */
  enlist(fullName: string, uid: string): void {
    this.#waiting.set(fullName, [...(this.#waiting.get(fullName) ?? []), uid]);
  }

  /**
   * Decides whether the pod may start. A pod that is not static always may; a static pod that is already terminating never may.
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
   * Returns true when `uid` may start now; it then holds the full name.
   *
   * UIDs before the first one that may still start are removed from the waiting list. A list without any such UID stays as it is, and the
   * pod starts (R109).
   */
  #tryStart(fullName: string, uid: string, mayStillStart: (uid: string) => boolean): boolean {
    const holder = this.#startedBy.get(fullName);
    if (holder !== undefined) return holder === uid;
    const waiting = this.#waiting.get(fullName) ?? [];
    const next = waiting.findIndex(mayStillStart);
    const isNext = next === -1 || waiting[next] === uid;
    this.#setWaiting(fullName, next === -1 ? waiting : waiting.slice(isNext ? next + 1 : next));
    if (isNext) this.#startedBy.set(fullName, uid);
    return isNext;
  }

  /** Releases the full name when `uid` holds it; a call for any other UID has no effect (R110). */
  release(fullName: string, uid: string): void {
    if (this.#startedBy.get(fullName) === uid) this.#startedBy.delete(fullName);
  }

  #setWaiting(fullName: string, waiting: readonly string[]): void {
    if (waiting.length > 0) this.#waiting.set(fullName, waiting);
    else this.#waiting.delete(fullName);
  }
}
