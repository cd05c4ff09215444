import type { Clock } from '../../base/clock.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { RequestQueue } from '../queue/priority-queue.ts';

/** SourceQueue is the queue that a controller passes to its sources. */
export interface SourceQueue extends RequestQueue {
  readonly clock: Clock;
  /** Traces events, when the controller is traced. */
  readonly tracer?: Tracer | undefined;
  /** Reports a handler or predicate that threw. */
  failed?(message: string): void;
}

/** Source is where events come from. It passes them to a handler, which adds requests to the queue. */
export interface Source {
  /** Starts to deliver events and returns; `signal` ends it. */
  start(signal: AbortSignal, queue: SourceQueue): void | Promise<void>;
  /** Resolves when the handler has received the first list; rejects when `signal` aborts first. Absent: there is no first list. */
  waitForSync?(signal: AbortSignal): Promise<void>;
  /** Resolves when the handler has finished with every event so far; rejects when `signal` aborts first. */
  idle?(signal: AbortSignal): Promise<void>;
  /** Names the source in logs and causes. */
  toString(): string;
}
