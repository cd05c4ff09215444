import type { KubeObject } from '../../kube/types.ts';
import { type Store, storeKey } from './store.ts';
import { compareVersions } from '../versions.ts';

/** One change of a cache, as handlers receive it. */
export type Delta<T> =
  | { readonly type: 'added'; readonly object: T; readonly initial: boolean }
  | { readonly type: 'updated'; readonly old: T; readonly object: T }
  /** `stale`: the deletion itself was missed; `object` is the last observed state (client-go `DeletedFinalStateUnknown`). */
  | { readonly type: 'deleted'; readonly object: T; readonly stale: boolean };

const uid = (object: KubeObject): string | undefined => object.metadata?.uid;
const version = (object: KubeObject): string => object.metadata?.resourceVersion ?? '';

/**
 * Returns the changes that an observed object makes to the cache. An object with a cached name and another UID replaces it: the old one
 * is deleted first. An object that is not newer than the cached one changes nothing.
 */
export function deltasOfSeen<T extends KubeObject>(
  old: T | undefined,
  object: T,
  initial: boolean,
): readonly Delta<T>[] {
  if (!old) return [{ type: 'added', object, initial }];
  if (uid(old) !== uid(object)) {
    return [
      { type: 'deleted', object: old, stale: true },
      { type: 'added', object, initial: false },
    ];
  }
  const order = compareVersions(version(object), version(old));
  return order !== undefined && order <= 0 ? [] : [{ type: 'updated', old, object }];
}

/** Returns the changes that an observed deletion makes: none when the cached object of that name has another UID. */
export function deltasOfDeleted<T extends KubeObject>(old: T | undefined, object: T): readonly Delta<T>[] {
  return old && uid(old) === uid(object) ? [{ type: 'deleted', object, stale: false }] : [];
}

/** Returns the changes that a complete list makes: first the deletions of missing objects, then the listed objects. */
export function deltasOfList<T extends KubeObject>(
  store: Store<T>,
  items: readonly T[],
  initial: boolean,
): readonly Delta<T>[] {
  const listed = new Map(items.map((item) => [storeKey(item), item]));
  const deltas: Delta<T>[] = [];
  for (const object of store.list()) {
    if (!listed.has(storeKey(object))) deltas.push({ type: 'deleted', object, stale: true });
  }
  for (const [key, object] of listed) {
    const old = store.get(key);
    if (!old || uid(old) !== uid(object)) deltas.push(...deltasOfSeen(old, object, initial));
    else if (version(old) !== version(object) || version(object) === '')
      deltas.push({ type: 'updated', old, object });
  }
  return deltas;
}

/** Applies a delta to the cache. */
export function applyDelta<T extends KubeObject>(store: Store<T>, delta: Delta<T>): void {
  const key = storeKey(delta.object);
  if (delta.type === 'deleted') store.delete(key);
  else store.set(key, delta.object);
}
