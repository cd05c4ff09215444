import type { KubeObject } from '../kube/types.ts';
import type { ReadonlyStore } from './store.ts';

/** The whole cache after a burst of changes, and what they were; the first burst is all of it. */
export interface Burst<T> {
  readonly objects: readonly T[];
  readonly changes?: { readonly set: readonly T[]; readonly gone: readonly T[] };
}

const uid = (object: KubeObject): string => object.metadata?.uid ?? '';

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
    this.#gone.delete(uid(object));
    this.#set.set(uid(object), object);
  }

  deleted(object: T): void {
    this.#set.delete(uid(object));
    this.#gone.set(uid(object), object);
  }

  /** The burst so far; the next one begins. */
  take(): Burst<T> {
    const changes = { set: [...this.#set.values()], gone: [...this.#gone.values()] };
    const objects = this.#store.list();
    const whole = this.#first;
    this.#first = false;
    this.#set.clear();
    this.#gone.clear();
    return whole ? { objects } : { objects, changes };
  }
}
