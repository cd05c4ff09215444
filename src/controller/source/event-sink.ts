import { messageOf } from '../../base/errors.ts';
import type { OpenSpan, Tracer } from '../../base/tracing.ts';
import type { EventHandler } from '../handler/handler.ts';
import { isResync } from '../handler/handler.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from '../handler/event.ts';
import type { Predicate } from '../predicate/predicate.ts';
import { EventQueue } from '../queue/event-queue.ts';
import type { EventCause, RequestQueue } from '../queue/priority-queue.ts';
import type { KubeObject } from '../types.ts';
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
  readonly #pending = new Set<Promise<unknown>>();

  constructor(parts: EventSinkParts<T>) {
    this.#parts = parts;
  }

  /** The number of events that the handler has not finished with. */
  get pending(): number {
    return this.#pending.size;
  }

  create(event: CreateEvent<T>): void {
    this.#event('create', 'create', event, event.object);
  }

  update(event: UpdateEvent<T>): void {
    this.#event('update', isResync(event) ? 'resync' : 'update', event, event.objectNew);
  }

  delete(event: DeleteEvent<T>): void {
    this.#event('delete', 'delete', event, event.object);
  }

  generic(event: GenericEvent<T>): void {
    this.#event('generic', 'generic', event, event.object);
  }

  /** Resolves when the handler has finished with every event so far. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  #event(name: EventName, type: EventCause['type'], event: AnyEvent<T>, object: T): void {
    const { queue, handler, predicates, source, kind } = this.#parts;
    let span: OpenSpan | undefined;
    let result: unknown;
    try {
      for (const predicate of predicates as readonly Receiver<AnyEvent<T>, [], boolean>[])
        if (!predicate[name](event)) return;
      const cause = new ObjectCause(type, source, object, object.kind ?? kind ?? '');
      span = queue.tracer && this.#span(queue.tracer, type, object);
      const added = new EventQueue(queue, { cause, trace: span?.headers() });
      const receiver = handler as Receiver<AnyEvent<T>, [RequestQueue], unknown>;
      result = span ? span.within(() => receiver[name](event, added)) : receiver[name](event, added);
    } catch (reason) {
      // a predicate or handler that throws loses its event; the source goes on
      this.#failed(reason);
    }
    if (result instanceof Promise) this.#wait(result, span);
    else span?.end();
  }

  /** Waits for a handler in the background. */
  #wait(result: Promise<unknown>, span: OpenSpan | undefined): void {
    const settled: Promise<unknown> = result
      .catch((reason: unknown) => {
        this.#failed(reason);
      })
      .finally(() => {
        span?.end();
        this.#pending.delete(settled);
      });
    this.#pending.add(settled);
  }

  #failed(reason: unknown): void {
    this.#parts.queue.failed?.(`event handler of ${this.#parts.source}: ${messageOf(reason)}`);
  }

  #span(tracer: Tracer, type: string, object: T): OpenSpan {
    return tracer.start(`event ${type}`, {
      parent: 'none',
      attributes: {
        'k8s.object.kind': object.kind ?? this.#parts.kind ?? '',
        'k8s.namespace.name': object.metadata?.namespace ?? '',
        'k8s.object.name': object.metadata?.name ?? '',
        'podtender.event.source': this.#parts.source,
      },
    });
  }
}

type EventName = 'create' | 'update' | 'delete' | 'generic';
type AnyEvent<T extends KubeObject> = CreateEvent<T> | UpdateEvent<T> | DeleteEvent<T> | GenericEvent<T>;
/** A handler or predicate as what is called by the name of its event. */
type Receiver<Event, More extends readonly unknown[], Result> = Readonly<
  Record<EventName, (event: Event, ...more: More) => Result>
>;

/** The cause of what an event of an object asks for. It keeps texts of the object, not the object. */
class ObjectCause implements EventCause {
  readonly type: EventCause['type'];
  readonly source: string;
  readonly #kind: string;
  readonly #namespace: string;
  readonly #name: string;
  readonly #resourceVersion: string | undefined;

  constructor(type: EventCause['type'], source: string, { metadata }: KubeObject, kind: string) {
    this.type = type;
    this.source = source;
    this.#kind = kind;
    this.#namespace = metadata?.namespace ?? '';
    this.#name = metadata?.name ?? '';
    this.#resourceVersion = metadata?.resourceVersion;
  }

  get object(): NonNullable<EventCause['object']> {
    const resourceVersion = this.#resourceVersion;
    return {
      kind: this.#kind,
      namespace: this.#namespace,
      name: this.#name,
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
  }
}
