import { untilAborted } from '../../base/abort.ts';
import { AgentError } from '../../base/errors.ts';
import { Latch } from '../../base/latch.ts';
import type { EventHandler } from '../handler/handler.ts';
import type { Predicate } from '../predicate/predicate.ts';
import type { Cache, HandlerRegistration, Informer, Kind, KubeObject } from '../types.ts';
import { EventSink } from './event-sink.ts';
import type { Source, SourceQueue } from './source.ts';

/** Options of sources that read informers. */
export interface InformerSourceOptions<T extends KubeObject> {
  /** All of them must let an event pass. */
  readonly predicates?: readonly Predicate<T>[];
}

/** Options of {@link kindSource}. */
export interface KindSourceOptions<T extends KubeObject> extends InformerSourceOptions<T> {
  /** Watches the metadata only; objects have `apiVersion`, `kind` and `metadata`. */
  readonly metadataOnly?: boolean;
}

/**
 * Returns a source of the events of one kind, from the informer that the cache has for it.
 *
 * @example
 * controller.watch(kindSource(manager.cache, kinds.Pod, enqueueRequestForObject));
 */
export function kindSource<T extends KubeObject>(
  cache: Cache,
  kind: Kind<T>,
  handler: EventHandler<T>,
  options: KindSourceOptions<T> = {},
): Source {
  const { group, version, kind: name } = kind;
  return new InformerSource(
    `kind source: ${group === '' ? version : `${group}/${version}`}, Kind=${name}`,
    () => cache.getInformer(kind, { metadataOnly: options.metadataOnly ?? false }),
    { handler, predicates: options.predicates ?? [], kind: name },
  );
}

/**
 * Returns a source of the events of an informer.
 *
 * @example
 * builder.watchesRawSource(informerSource(await manager.cache.getInformer(kinds.Pod), enqueueRequestForObject()));
 */
export function informerSource<T extends KubeObject>(
  informer: Informer<T>,
  handler: EventHandler<T>,
  options: InformerSourceOptions<T> = {},
): Source {
  return new InformerSource('informer source', () => Promise.resolve(informer), {
    handler,
    predicates: options.predicates ?? [],
  });
}

interface SourceParts<T extends KubeObject> {
  readonly handler: EventHandler<T>;
  readonly predicates: readonly Predicate<T>[];
  readonly kind?: string;
}

class InformerSource<T extends KubeObject> implements Source {
  readonly #name: string;
  readonly #informer: () => Promise<Informer<T>>;
  readonly #parts: SourceParts<T>;
  readonly #started = new Latch();
  #failure: unknown;
  #registration: HandlerRegistration | undefined;
  #sink: EventSink<T> | undefined;

  constructor(name: string, informer: () => Promise<Informer<T>>, parts: SourceParts<T>) {
    if ((parts.handler as EventHandler<T> | undefined) === undefined)
      throw new AgentError('invalid_argument', `${name}: a handler is required`);
    this.#name = name;
    this.#informer = informer;
    this.#parts = parts;
  }

  async start(signal: AbortSignal, queue: SourceQueue): Promise<void> {
    if (this.#sink) throw new AgentError('failed_precondition', `${this.#name} was started before`);
    const sink = new EventSink({ ...this.#parts, queue, source: this.#name });
    this.#sink = sink;
    // An informer of a running cache is returned after its first list: the wait for that belongs to waitForSync.
    void untilAborted(this.#informer(), signal)
      .then((informer) => {
        const registration = informer.addEventHandler({
          added: (object, isInInitialList) => {
            sink.create({ object, isInInitialList });
          },
          updated: (objectOld, objectNew) => {
            sink.update({ objectOld, objectNew });
          },
          deleted: (object, deleteStateUnknown) => {
            sink.delete({ object, deleteStateUnknown });
          },
        });
        this.#registration = registration;
        signal.addEventListener(
          'abort',
          () => {
            registration.remove();
          },
          { once: true },
        );
      })
      .catch((reason: unknown) => {
        this.#failure = reason;
      })
      .finally(() => {
        this.#started.open();
      });
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    if (!this.#sink) throw new AgentError('failed_precondition', `${this.#name} was not started`);
    await this.#started.wait(signal);
    if (this.#failure !== undefined) throw this.#failure as Error;
    await this.#registration?.waitSynced(signal);
    await this.idle(signal);
  }

  async idle(signal: AbortSignal): Promise<void> {
    if (this.#sink) await untilAborted(this.#sink.idle(), signal);
  }

  toString(): string {
    return this.#name;
  }
}
