import type { KubeObject } from '../../kube/types.ts';

/** Returns the values under which an object is indexed, e.g. the node of a pod. */
export type IndexFunction<T> = (object: T) => readonly string[];

/**
 * Returns `namespace/name`, or the name alone without a namespace (client-go `MetaNamespaceKeyFunc`). Uses join because V8 stores a
 * template string twice once it was a map key.
 */
export function storeKey(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata ?? {};
  return namespace === undefined || namespace === '' ? name : [namespace, name].join('/');
}

/** Read access to a cache. */
export interface ReadonlyStore<T extends KubeObject> {
  /** @param key `namespace/name`, or the name of an object without a namespace */
  get(key: string): T | undefined;
  list(): readonly T[];
  /** Returns the objects that index `index` has under `value`. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

/**
 * Store holds the last received objects of one kind by key and keeps indexes on them.
 *
 * @example
 * const store = new Store<Pod>({ node: (pod) => [pod.spec?.nodeName ?? ''] });
 * store.byIndex('node', 'worker-1');
 */
export class Store<T extends KubeObject> implements ReadonlyStore<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    for (const [name, valuesOf] of Object.entries(indexers))
      this.#indexes.set(name, { valuesOf, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Adds an index, also over the objects that are there already; replaces one of the same name. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const keys: Index<T>['keys'] = new Map();
    this.#indexes.set(name, { valuesOf, keys });
    for (const [key, object] of this.#objects) for (const value of valuesOf(object)) put(keys, value, key);
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  byIndex(index: string, value: string): readonly T[] {
    const found: T[] = [];
    for (const key of this.#indexes.get(index)?.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  set(key: string, object: T): void {
    this.#file(key, this.#objects.get(key), object);
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    this.#file(key, this.#objects.get(key), undefined);
    this.#objects.delete(key);
  }

  #file(key: string, before: T | undefined, now: T | undefined): void {
    for (const { valuesOf, keys } of this.#indexes.values()) {
      const old = before ? valuesOf(before) : none;
      const values = now ? valuesOf(now) : none;
      if (old === values || sameValues(old, values)) continue;
      for (const value of old) drop(keys, value, key);
      for (const value of values) put(keys, value, key);
    }
  }
}

/** The keys of the objects under each value of an index. */
interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly keys: Map<string, Set<string>>;
}

const none: readonly string[] = [];

const sameValues = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((value, at) => value === other[at]);

function put(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  if (keys) keys.add(key);
  else index.set(value, new Set([key]));
}

function drop(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}
