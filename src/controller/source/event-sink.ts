import { messageOf } from '../../base/errors.ts';
import type { OpenSpan } from '../../base/tracing.ts';
import type { EventHandler } from '../handler/handler.ts';
import { isResync } from '../handler/handler.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from '../handler/event.ts';
import type { Predicate } from '../predicate/predicate.ts';
import type { AddOptions, EventCause, RequestQueue } from '../queue/priority-queue.ts';
import type { KubeObject, Request } from '../types.ts';
import type { SourceQueue } from './source.ts';

/** What an {@link EventSink} connects. */
export interface EventSinkParts<T extends KubeObject> {
  readonly queue: SourceQueue;
  readonly handler: EventHandler<T>;
  readonly predicates: readonly Predicate<T>[];
  /** Names the source in causes. */
  readonly source: string;
  /** The kind of the objects, for objects that do not state theirs. */
  readonly kind?: string;
}

/** EventSink passes events that the predicates let pass to a handler, with the cause of what the handler then asks for. */
export class EventSink<T extends KubeObject> {
  readonly #parts: EventSinkParts<T>;
  readonly #pending = new Set<Promise<void>>();

  constructor(parts: EventSinkParts<T>) {
    this.#parts = parts;
  }

  /** The number of events that the handler has not finished with. */
  get pending(): number {
    return this.#pending.size;
  }

  create(event: CreateEvent<T>): void {
    if (!this.#passes((predicate) => predicate.create(event))) return;
    this.#handle('create', event.object, (queue) => this.#parts.handler.create(event, queue));
  }

  update(event: UpdateEvent<T>): void {
    if (!this.#passes((predicate) => predicate.update(event))) return;
    const type = isResync(event) ? 'resync' : 'update';
    this.#handle(type, event.objectNew, (queue) => this.#parts.handler.update(event, queue));
  }

  delete(event: DeleteEvent<T>): void {
    if (!this.#passes((predicate) => predicate.delete(event))) return;
    this.#handle('delete', event.object, (queue) => this.#parts.handler.delete(event, queue));
  }

  generic(event: GenericEvent<T>): void {
    if (!this.#passes((predicate) => predicate.generic(event))) return;
    this.#handle('generic', event.object, (queue) => this.#parts.handler.generic(event, queue));
  }

  /** Resolves when the handler has finished with every event so far. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  #passes(check: (predicate: Predicate<T>) => boolean): boolean {
    const { predicates } = this.#parts;
    return predicates.length === 0 || this.#guard(() => predicates.every(check)) === true;
  }

  #handle(type: EventCause['type'], object: T, call: (queue: RequestQueue) => void | Promise<void>): void {
    const span = this.#span(type, object);
    const cause = this.#cause(type, object);
    const queue = new CausedQueue(this.#parts.queue, span ? { cause, trace: span.headers() } : { cause });
    const result = this.#guard(() => (span ? span.within(() => call(queue)) : call(queue)));
    if (!(result instanceof Promise)) {
      span?.end();
      return;
    }
    const settled: Promise<void> = result
      .catch((reason: unknown) => {
        this.#parts.queue.failed?.(`event handler of ${this.#parts.source}: ${messageOf(reason)}`);
      })
      .finally(() => {
        span?.end();
        this.#pending.delete(settled);
      });
    this.#pending.add(settled);
  }

  /** A predicate or handler that throws loses its event; the source goes on. */
  #guard<Result>(call: () => Result): Result | undefined {
    try {
      return call();
    } catch (reason) {
      this.#parts.queue.failed?.(`event handler of ${this.#parts.source}: ${messageOf(reason)}`);
      return undefined;
    }
  }

  #span(type: string, object: T): OpenSpan | undefined {
    return this.#parts.queue.tracer?.start(`event ${type}`, {
      parent: 'none',
      attributes: {
        'k8s.object.kind': object.kind ?? this.#parts.kind ?? '',
        'k8s.namespace.name': object.metadata?.namespace ?? '',
        'k8s.object.name': object.metadata?.name ?? '',
        'podtender.event.source': this.#parts.source,
      },
    });
  }

  #cause(type: EventCause['type'], object: T): EventCause {
    const { namespace = '', name = '', resourceVersion } = object.metadata ?? {};
    return {
      type,
      source: this.#parts.source,
      object: {
        kind: object.kind ?? this.#parts.kind ?? '',
        namespace,
        name,
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    };
  }
}

/** CausedQueue adds requests with the cause of one event. */
class CausedQueue implements RequestQueue {
  readonly #queue: RequestQueue;
  readonly #event: Pick<AddOptions, 'cause' | 'trace'>;

  constructor(queue: RequestQueue, event: Pick<AddOptions, 'cause' | 'trace'>) {
    this.#queue = queue;
    this.#event = event;
  }

  add(request: Request): void {
    this.#queue.addWithOpts(this.#event, request);
  }

  addAfter(request: Request, ms: number): void {
    this.#queue.addWithOpts({ ...this.#event, after: ms }, request);
  }

  addRateLimited(request: Request): void {
    this.#queue.addWithOpts({ ...this.#event, rateLimited: true }, request);
  }

  addWithOpts(options: AddOptions, ...requests: readonly Request[]): void {
    this.#queue.addWithOpts({ ...this.#event, ...options }, ...requests);
  }
}
