import { Observable } from 'rxjs/internal/Observable';
import { map } from 'rxjs/internal/operators/map';
import { messageOf } from '../../base/errors.ts';
import { Latch } from '../../base/latch.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { KubeObject } from '../../kube/types.ts';
import { applyDelta, type Delta, deltasOfDeleted, deltasOfList, deltasOfSeen } from './deltas.ts';
import { type Burst, BurstCollector } from './burst.ts';
import { type KnownObjects, knownObjects } from './known-objects.ts';
import { HandlerQueue, type InformerHandler } from './handler-queue.ts';
import {
  dropManagedFields,
  Reflector,
  type ReflectorDeps,
  type ReflectorOptions,
  type ReflectorSink,
  type ReflectorStats,
} from './reflector.ts';
import type { Resource } from '../resources.ts';
import { sharedWith } from './sharing.ts';
import { type IndexFunction, type ReadonlyStore, Store, storeKey } from './store.ts';

/** What is mirrored and how it is found. */
export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'known'> {
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** Freezes every object deeply, so that a write to a shared one throws; for development and tests. */
  readonly freeze?: boolean;
}

/** A handler's place in an informer. */
export interface Registration {
  /** The handler has been told of all that the first list held. */
  readonly synced: boolean;
  /** Resolves when `synced`; rejects when `signal` aborts first. */
  waitSynced(signal?: AbortSignal): Promise<void>;
  /** How many objects have news that the handler has not been told. */
  readonly pending: number;
  /** The handler hears nothing more. */
  remove(): void;
}

/**
 * A cache of one kind that stays equal to the API server, and tells any number of handlers of each change, each at its own
 * pace. Objects are shared: nobody may write to them.
 */
export class Informer<T extends KubeObject> {
  readonly #store: Store<T>;
  readonly #reflector: Reflector<T>;
  readonly #logger: Logger;
  readonly #listed = new Latch();
  readonly #handlers = new Set<HandlerQueue<T>>();
  #running: Promise<void> | undefined;
  /** The objects that came last, new to the cache and in a new version. */
  #lastNew: T | undefined;
  #lastChanged: T | undefined;
  /** For calls about the same objects: what they bring and what is cached need not be parsed twice. */
  readonly known: KnownObjects<T>;

  constructor(deps: ReflectorDeps, resource: Resource, options: InformerOptions<T> = {}) {
    const { indexers, freeze = false, transform = dropManagedFields, ...rest } = options;
    this.#store = new Store<T>(indexers);
    this.#logger = (deps.logger ?? silentLogger).with({ resource: resource.resource });
    // the kinds of the core group have no other member of that name
    const unmanaged = transform === dropManagedFields && resource.group === '';
    this.known = knownObjects<T>((key) => this.#store.get(key), { unmanaged });
    this.#reflector = new Reflector<T>(deps, resource, {
      ...rest,
      known: this.known,
      transform: (object, deleted) => {
        // what is gone is not kept, so it need not share
        const kept = transform(deleted ? object : this.#shared(object), deleted);
        return freeze ? deepFreeze(kept) : kept;
      },
    });
  }

  /** The cache; empty until `synced`. */
  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  /** The first list is in the cache. */
  get synced(): boolean {
    return this.#listed.isOpen;
  }

  /** Resolves when the first list is in the cache; rejects when `signal` aborts first. */
  waitSynced(signal?: AbortSignal): Promise<void> {
    return this.#listed.wait(signal);
  }

  /** What the mirroring did so far. */
  get stats(): ReflectorStats {
    return this.#reflector.stats;
  }

  /** The version that the cache stands at. */
  get resourceVersion(): string {
    return this.#reflector.resourceVersion;
  }

  /** Mirrors until `signal` aborts. A second call joins the first. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#reflector.run(this.#sink, signal);
    return this.#running;
  }

  /** Tells `handler` of all that is cached, then of each change. */
  addHandler(handler: InformerHandler<T>): Registration {
    const queue = new HandlerQueue<T>(handler, (reason) => {
      this.#logger.error('an informer handler failed', { err: messageOf(reason) });
    });
    this.#handlers.add(queue);
    const told = new Latch();
    if (this.#listed.isOpen)
      for (const object of this.#store.list()) queue.push({ type: 'added', object, initial: true });
    void this.#listed
      .wait()
      .then(() => queue.drained())
      .then(() => {
        told.open();
      });
    return {
      get synced() {
        return told.isOpen;
      },
      waitSynced: (signal) => told.wait(signal),
      get pending() {
        return queue.length;
      },
      remove: () => {
        this.#handlers.delete(queue);
        queue.close();
      },
    };
  }

  /**
   * The whole cache after each burst of changes, the first time once synced: changes that arrive in one turn of the event loop
   * come as one snapshot.
   */
  snapshots(): Observable<readonly T[]> {
    return this.bursts().pipe(map(({ objects }) => objects));
  }

  /** As {@link snapshots}, and from the second on with what differs from the one before, by UID. */
  bursts(): Observable<Burst<T>> {
    return new Observable((subscriber) => {
      const collector = new BurstCollector<T>(this.#store);
      let planned: NodeJS.Immediate | undefined;
      const plan = (): void => {
        planned ??= setImmediate(() => {
          planned = undefined;
          subscriber.next(collector.take());
        });
      };
      const seen = (object: T): void => {
        collector.seen(object);
        plan();
      };
      const registration = this.addHandler({
        added: seen,
        updated: (_old, object) => {
          seen(object);
        },
        deleted: (object) => {
          collector.deleted(object);
          plan();
        },
      });
      void registration.waitSynced().then(plan);
      return () => {
        registration.remove();
        clearImmediate(planned);
      };
    });
  }

  /** An object takes as much memory as it differs from its last version and from the object before it that was as new to the cache. */
  #shared(object: T): T {
    const before = this.#store.get(storeKey(object));
    const shared = sharedWith(object, before, before ? this.#lastChanged : this.#lastNew);
    if (before) this.#lastChanged = shared;
    else this.#lastNew = shared;
    return shared;
  }

  readonly #sink: ReflectorSink<T> = {
    replace: (items) => {
      this.#apply(deltasOfList(this.#store, items, !this.#listed.isOpen));
      this.#listed.open();
    },
    seen: (object) => {
      this.#apply(deltasOfSeen(this.#store.get(storeKey(object)), object, false));
    },
    deleted: (object) => {
      this.#apply(deltasOfDeleted(this.#store.get(storeKey(object)), object));
    },
  };

  #apply(deltas: readonly Delta<T>[]): void {
    deltas.forEach((delta) => {
      applyDelta(this.#store, delta);
      this.#handlers.forEach((queue) => {
        queue.push(delta);
      });
    });
  }
}

/** Freezes what can be reached from `value`; what is frozen already is left alone. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
