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

/** What to mirror, and the indexes of the cache. */
export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'known'> {
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** Freezes every object deeply, so that a write to a shared object throws; for development and tests. */
  readonly freeze?: boolean;
}

/** The registration of a handler with an informer. */
export interface Registration {
  /** True once the handler has received the whole first list. */
  readonly synced: boolean;
  /** Resolves when `synced`; rejects when `signal` aborts first. */
  waitSynced(signal?: AbortSignal): Promise<void>;
  /** The number of objects with undelivered changes. */
  readonly pending: number;
  /** Removes the handler; it receives nothing more. */
  remove(): void;
}

/**
 * Informer keeps a cache of one kind in sync with the API server and delivers each change to any number of handlers, each at its own
 * pace. Objects are shared: do not modify them.
 *
 * @example
 * const pods = new Informer<Pod>({ client, clock }, podResource, { fieldSelector: 'spec.nodeName=worker-1' });
 * pods.addHandler({ added: (pod) => console.log(pod.metadata?.name) });
 * void pods.run(signal);
 * await pods.waitSynced(signal);
 */
export class Informer<T extends KubeObject> {
  readonly #store: Store<T>;
  readonly #reflector: Reflector<T>;
  readonly #logger: Logger;
  readonly #listed = new Latch();
  readonly #handlers = new Set<HandlerQueue<T>>();
  #running: Promise<void> | undefined;
  /** The most recently received objects: one new to the cache, one an update. */
  #lastNew: T | undefined;
  #lastChanged: T | undefined;
  /** Recently seen versions for calls about the same objects, so that their responses need not be parsed twice. */
  readonly knownObjects: KnownObjects<T>;

  constructor(deps: ReflectorDeps, resource: Resource, options: InformerOptions<T> = {}) {
    const { indexers, freeze = false, transform = dropManagedFields, ...rest } = options;
    this.#store = new Store<T>(indexers);
    this.#logger = (deps.logger ?? silentLogger).with({ resource: resource.resource });
    // The kinds of the core group have no other member of that name.
    const unmanaged = transform === dropManagedFields && resource.group === '';
    this.knownObjects = knownObjects<T>((key) => this.#store.get(key), { unmanaged });
    this.#reflector = new Reflector<T>(deps, resource, {
      ...rest,
      knownObjects: this.knownObjects,
      transform: (object, deleted) => {
        const transformed = transform(object, deleted);
        // A deleted object is not retained, so it need not share. Sharing comes last: a transform may write to what it receives.
        const shared = deleted ? transformed : this.#shared(transformed);
        return freeze ? deepFreeze(shared) : shared;
      },
    });
  }

  /** The cache; empty until `synced`. */
  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  /** True once the first list is in the cache. */
  get synced(): boolean {
    return this.#listed.isOpen;
  }

  /** Resolves when the first list is in the cache; rejects when `signal` aborts first. */
  waitSynced(signal?: AbortSignal): Promise<void> {
    return this.#listed.wait(signal);
  }

  /** Counters of the reflector. */
  get stats(): ReflectorStats {
    return this.#reflector.stats;
  }

  /** The resource version of the cache. */
  get resourceVersion(): string {
    return this.#reflector.resourceVersion;
  }

  /** Why the last list or watch failed; undefined after one that succeeded. */
  get lastFailure(): unknown {
    return this.#reflector.lastFailure;
  }

  /** Adds an index to the cache, also over the objects that are there already. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#store.addIndex(name, valuesOf);
  }

  /** Delivers every cached object again, as an update from itself to itself. */
  resync(): void {
    for (const object of this.#store.list()) {
      this.#handlers.forEach((queue) => {
        queue.push({ type: 'updated', old: object, object });
      });
    }
  }

  /** Mirrors until `signal` aborts. A second call joins the first. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#reflector.run(this.#sink, signal);
    return this.#running;
  }

  /** Delivers all cached objects to `handler`, then each change. */
  addHandler(handler: InformerHandler<T>): Registration {
    const queue = new HandlerQueue<T>(handler, (reason) => {
      this.#logger.error('informer handler failed', { err: messageOf(reason) });
    });
    this.#handlers.add(queue);
    const delivered = new Latch();
    if (this.#listed.isOpen)
      for (const object of this.#store.list()) queue.push({ type: 'added', object, initial: true });
    void this.#listed
      .wait()
      .then(() => queue.drained())
      .then(() => {
        delivered.open();
      });
    return {
      get synced() {
        return delivered.isOpen;
      },
      waitSynced: (signal) => delivered.wait(signal),
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
   * Emits the whole cache after each burst of changes, first when synced: changes that arrive in one turn of the event loop are one
   * snapshot.
   */
  snapshots(): Observable<readonly T[]> {
    return this.bursts().pipe(map(({ objects }) => objects));
  }

  /** As {@link snapshots}; from the second on with the differences from the previous one, by UID. */
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

  /**
   * Shares the equal parts of an object with its previous version and with the last object received, so that it uses memory only for its
   * differences.
   */
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

/** Freezes everything reachable from `value`; frozen parts are skipped. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
