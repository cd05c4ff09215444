import type { AddOptions, RequestQueue } from '../queue/priority-queue.ts';
import type { Request } from '../types.ts';

/** One request that was added to a {@link RecordedQueue}. */
export interface Addition extends Pick<AddOptions, 'after' | 'rateLimited' | 'priority'> {
  readonly request: Request;
}

/**
 * RecordedQueue records what an event handler adds, for tests of handlers.
 *
 * @example
 * const queue = new RecordedQueue();
 * await enqueueRequestForObject.create({ object: pod }, queue);
 * expect(queue.requests).toEqual([{ namespace: 'default', name: 'web' }]);
 */
export class RecordedQueue implements RequestQueue {
  readonly #additions: Addition[] = [];

  /** What was added, oldest first. */
  get additions(): readonly Addition[] {
    return this.#additions;
  }

  /** The requests that were added, oldest first; one that was added twice is there twice. */
  get requests(): readonly Request[] {
    return this.#additions.map(({ request }) => request);
  }

  add(request: Request): void {
    this.addWithOpts({}, request);
  }

  addAfter(request: Request, ms: number): void {
    this.addWithOpts({ after: ms }, request);
  }

  addRateLimited(request: Request): void {
    this.addWithOpts({ rateLimited: true }, request);
  }

  addWithOpts({ after, rateLimited, priority }: AddOptions, ...requests: readonly Request[]): void {
    for (const request of requests)
      this.#additions.push({
        request,
        ...(after !== undefined && { after }),
        ...(rateLimited !== undefined && { rateLimited }),
        ...(priority !== undefined && { priority }),
      });
  }

  /** Forgets what was added. */
  clear(): void {
    this.#additions.length = 0;
  }
}
