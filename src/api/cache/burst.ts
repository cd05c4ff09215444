import { uidOf } from '../../kube/names.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { ReadonlyStore } from './store.ts';

/** A snapshot of the cache after a burst of changes; the first burst holds the whole cache and no `changes`. */
export interface Burst<T> {
  /** The whole cache, computed on access: most consumers need only the changes, often one object among thousands. */
  readonly objects: readonly T[];
  readonly changes?: { readonly set: readonly T[]; readonly gone: readonly T[] };
}

/** BurstCollector collects the changes of one burst by UID: the newest state of existing objects, the last state of deleted ones. */
export class BurstCollector<T extends KubeObject> {
  readonly #store: ReadonlyStore<T>;
  readonly #set = new Map<string, T>();
  readonly #gone = new Map<string, T>();
  #first = true;

  constructor(store: ReadonlyStore<T>) {
    this.#store = store;
  }

  seen(object: T): void {
    this.#gone.delete(uidOf(object));
    this.#set.set(uidOf(object), object);
  }

  deleted(object: T): void {
    this.#set.delete(uidOf(object));
    this.#gone.set(uidOf(object), object);
  }

  /** Returns the burst so far and starts the next one. */
  take(): Burst<T> {
    const changes = this.#first
      ? undefined
      : { set: [...this.#set.values()], gone: [...this.#gone.values()] };
    this.#first = false;
    this.#set.clear();
    this.#gone.clear();
    const store = this.#store;
    return {
      get objects() {
        return store.list();
      },
      ...(changes && { changes }),
    };
  }
}
