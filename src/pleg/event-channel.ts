import { Observable } from 'rxjs';

/**
 * EventChannel buffers events for one reader. It holds at most `capacity` events; further ones are dropped and counted, and not sent again
 * (R231).
 */
export class EventChannel<T> {
  readonly #capacity: number;
  #queue: T[] = [];
  #dropped = 0;
  #notify: (() => void) | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The number of events dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds an event. Returns false when the channel is full and the event was dropped. */
  offer(event: T): boolean {
    if (this.#queue.length >= this.#capacity) {
      this.#dropped++;
      return false;
    }
    this.#queue.push(event);
    this.#notify?.();
    return true;
  }

  /** Removes and returns all buffered events. */
  drain(): readonly T[] {
    const events = this.#queue;
    this.#queue = [];
    return events;
  }

  /** The events as a stream for one subscriber: buffered events first. Events are delivered outside the caller of `offer`. */
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
