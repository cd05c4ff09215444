import { type Clock, steadyNow } from '../base/clock.ts';

/**
 * When each pod is to be looked at again: one due time per UID, the latest word counts, so a later one may postpone (R45).
 * Nothing fires by itself; the sync loop's tick drains it.
 *
 * Follows kubelet `queue.WorkQueue`.
 */
export class DueQueue {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #dueAt = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Plans the next look at `uid` in `delayMs`, instead of any planned before. */
  enqueue(uid: string, delayMs: number): void {
    this.#dueAt.set(uid, steadyNow(this.#clock) + delayMs);
  }

  /** The UIDs whose time lies strictly in the past; they are forgotten. An undelayed one is not due within the same instant. */
  getWork(): string[] {
    const now = steadyNow(this.#clock);
    const work: string[] = [];
    this.#dueAt.forEach((dueAt, uid) => {
      if (dueAt >= now) return;
      work.push(uid);
      this.#dueAt.delete(uid);
    });
    return work;
  }

  /** Forgets a pod that nobody will ask for again. */
  forget(uid: string): void {
    this.#dueAt.delete(uid);
  }

  /** How many pods are planned. */
  get size(): number {
    return this.#dueAt.size;
  }
}
