import { type Clock, steadyNow } from '../base/clock.ts';

/**
 * DueQueue holds the time at which each pod is synced again: one due time per UID. The latest call replaces the earlier one, even when it
 * postpones the sync (R45). Nothing fires by itself: the sync loop drains the queue at every tick.
 *
 * Follows kubelet `queue.WorkQueue`.
 */
export class DueQueue {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #dueAt = new Map<string, number>();
  /** No pod is due before this time. */
  #earliest = Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Schedules the next sync of `uid` in `delayMs`; replaces an earlier schedule. */
  enqueue(uid: string, delayMs: number): void {
    const dueAt = steadyNow(this.#clock) + delayMs;
    this.#dueAt.set(uid, dueAt);
    if (dueAt < this.#earliest) this.#earliest = dueAt;
  }

  /** True when {@link getWork} may have something to return; it then has to look at every pod. */
  hasWork(): boolean {
    return this.#earliest < steadyNow(this.#clock);
  }

  /**
   * Removes and returns the UIDs whose due time lies strictly in the past. A UID enqueued without delay is not due within the same instant.
   */
  getWork(): string[] {
    const now = steadyNow(this.#clock);
    const work: string[] = [];
    if (this.#earliest >= now) return work;
    let earliest = Infinity;
    this.#dueAt.forEach((dueAt, uid) => {
      if (dueAt >= now) {
        if (dueAt < earliest) earliest = dueAt;
        return;
      }
      work.push(uid);
      this.#dueAt.delete(uid);
    });
    this.#earliest = earliest;
    return work;
  }

  /** Removes a pod that needs no further sync. */
  forget(uid: string): void {
    this.#dueAt.delete(uid);
  }

  /** The number of pods with a due time. */
  get size(): number {
    return this.#dueAt.size;
  }
}
