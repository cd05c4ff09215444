import type { Entry, Store } from './store.ts';

/** The objects of a store at one moment. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Entry>>;

/** Returns the current objects. Entries never change, so that this copies references only. */
export function takeSnapshot(store: Store): Snapshot {
  store.flush();
  return new Map(
    store
      .storages()
      .map((storage) => [storage, new Map([...store.list(storage)].map((one) => [one.key, one]))]),
  );
}

/** Storages whose objects others depend on: they are restored first. */
const first = ['apiextensions.k8s.io/customresourcedefinitions', 'namespaces'];

/**
 * Brings the objects of a snapshot back: what was created since is deleted, what was changed or deleted is written as it was. Objects that
 * did not change keep their resourceVersion; all others get new ones, since versions only increase, and watches see the changes.
 */
export function restoreSnapshot(store: Store, snapshot: Snapshot): void {
  store.flush();
  const storages = [...new Set([...first, ...snapshot.keys(), ...store.storages()])];
  for (const storage of storages) {
    const saved = snapshot.get(storage);
    for (const { key } of [...store.list(storage)]) if (!saved?.has(key)) store.delete(storage, key);
    for (const [key, entry] of saved ?? [])
      if (store.get(storage, key) !== entry) store.put(storage, entry.object);
  }
  store.flush();
}
