import type { Request } from '../types.ts';
import type { AddOptions, EventCause, RequestQueue, TraceHeaders } from './priority-queue.ts';

/** What an {@link EventQueue} adds to each request that does not state it. */
export interface EventParts {
  readonly cause?: EventCause | undefined;
  readonly trace?: TraceHeaders | undefined;
  readonly priority?: number | undefined;
}

/** EventQueue adds requests with what is common to one event: its cause, its span, its priority. */
export class EventQueue implements RequestQueue {
  readonly #queue: RequestQueue;
  readonly #event: EventParts;

  constructor(queue: RequestQueue, event: EventParts) {
    this.#queue = queue;
    this.#event = event;
  }

  /** Returns a queue that adds with a priority what has none of its own. */
  static withPriority(queue: RequestQueue, priority: number): RequestQueue {
    if (!(queue instanceof EventQueue)) return new EventQueue(queue, { priority });
    const { cause, trace, priority: own = priority } = queue.#event;
    return new EventQueue(queue.#queue, { cause, trace, priority: own });
  }

  add(request: Request): void {
    this.#queue.addWithOpts(this.#event, request);
  }

  addAfter(request: Request, ms: number): void {
    this.addWithOpts({ after: ms }, request);
  }

  addRateLimited(request: Request): void {
    this.addWithOpts({ rateLimited: true }, request);
  }

  addWithOpts(options: AddOptions, ...requests: readonly Request[]): void {
    const { cause, trace, priority } = this.#event;
    const { after, rateLimited } = options;
    this.#queue.addWithOpts(
      {
        cause: options.cause ?? cause,
        trace: options.trace ?? trace,
        priority: options.priority ?? priority,
        after,
        rateLimited,
      },
      ...requests,
    );
  }
}
