import { Observable } from 'rxjs';

/**
 * Events on their way to one reader, at most `capacity` of them: what does not fit is dropped and counted, never repeated (R231).
 */
export class EventChannel<T> {
  readonly #capacity: number;
  #queue: T[] = [];
  #dropped = 0;
  #notify: (() => void) | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many events did not fit so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** False when the event was dropped. */
  offer(event: T): boolean {
    if (this.#queue.length >= this.#capacity) {
      this.#dropped++;
      return false;
    }
    this.#queue.push(event);
    this.#notify?.();
    return true;
  }

  /** Takes everything that waits. */
  drain(): readonly T[] {
    const events = this.#queue;
    this.#queue = [];
    return events;
  }

  /** Hands events to its one subscriber, outside the caller of `offer`; what waited before comes first. */
  stream(): Observable<T> {
    return new Observable((subscriber) => {
      let planned = false;
      const deliver = (): void => {
        planned = false;
        if (subscriber.closed) return;
        for (const event of this.drain()) subscriber.next(event);
      };
      const plan = (): void => {
        if (planned) return;
        planned = true;
        queueMicrotask(deliver);
      };
      this.#notify = plan;
      plan();
      return () => {
        if (this.#notify === plan) this.#notify = undefined;
      };
    });
  }
}
