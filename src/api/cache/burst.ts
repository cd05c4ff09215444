import { uidOf } from '../../kube/names.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { ReadonlyStore } from './store.ts';

/** A burst of changes; the first burst is all that is cached. */
export interface Burst<T> {
  /** The whole cache, listed when it is asked for: few do, and a burst is often one change of one object among thousands. */
  readonly objects: readonly T[];
  readonly changes?: { readonly set: readonly T[]; readonly gone: readonly T[] };
}

/** Gathers the changes of one burst by UID: the newest state of what is there, the last of what is gone. */
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

  /** The burst so far; the next one begins. */
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
