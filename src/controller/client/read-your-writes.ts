import { type Clock, steadyNow } from '../../base/clock.ts';
import { compareVersions } from '../../api/versions.ts';
import { ApiError } from '../../api/client.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import type { KindCache } from '../cache/kind-cache.ts';
import type { ObjectCache } from '../cache/object-cache.ts';
import { selects } from '../cache/selection.ts';
import { kindKey } from '../kinds.ts';
import type { CallOptions, Kind, KubeObject, ObjectKey } from '../types.ts';
import { keyOf } from './request.ts';

/** A write that the cache may not have received yet. */
interface Write {
  readonly namespace: string;
  readonly name: string;
  /** Of the object that was written; `''` if it is only known that it was deleted. */
  readonly resourceVersion: string;
  readonly uid: string;
  /** What should become of it in the cache; `unselected` by its selectors and namespaces. */
  readonly fate: 'stored' | 'unselected' | 'deleted';
}

/** Writes of one kind. */
interface Pending {
  /** By `namespace/name`. */
  readonly writes: Map<string, Write>;
  /** The newest version that was written while the kind had no informer. */
  floor: string;
}

/** Pending writes of a kind above which those that the cache has received are removed. */
const pruneAbove = 256;
/** How often a waiting read looks again without an event of the informer: a bookmark has none. ms */
const recheckMs = 100;

/**
 * ReadYourWrites delays reads from a cache until the cache has received the client's own writes: a read of an object after a write of it
 * waits until the cache has that version or a newer one, a list until it has all written objects that it covers.
 */
export class ReadYourWrites {
  readonly #cache: ObjectCache;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #kinds = new Map<string, Pending>();
  readonly #waits: Histogram = new Histogram(
    'podtender_controller_read_your_writes_wait_seconds',
    'Time that reads waited until the cache had the own writes, by kind.',
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  readonly #timeouts: Counter = new Counter(
    'podtender_controller_read_your_writes_timeouts_total',
    'Reads that failed since the cache did not receive the own writes in time, by kind.',
  );
  readonly #listeners = new WeakMap<KindCache, Set<() => void>>();

  constructor(cache: ObjectCache, clock: Clock, timeoutMs: number) {
    this.#cache = cache;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  families(): readonly MetricFamily[] {
    return [this.#waits.collect(), this.#timeouts.collect()];
  }

  /** Records a successful write by the object that the server returned. */
  wrote(kind: Kind, object: KubeObject): void {
    const { uid = '', resourceVersion = '' } = object.metadata ?? {};
    if (resourceVersion === '') return;
    const pending = this.#pending(kind);
    const [cached] = this.#caches(kind);
    if (!cached) {
      if (isNewer(resourceVersion, pending.floor)) pending.floor = resourceVersion;
      return;
    }
    const fate = selects(cached.selection, kind, object) === true ? 'stored' : 'unselected';
    this.#record(cached, pending, { ...keyOf(object), uid, resourceVersion, fate });
  }

  /**
   * Records a successful deletion.
   *
   * @param answer the object that is held by finalizers or a grace period, or a Status with the UID
   */
  deleted(kind: Kind, key: ObjectKey, answer: KubeObject): void {
    if (answer.metadata?.deletionTimestamp !== undefined && answer.metadata.resourceVersion !== undefined) {
      this.wrote(kind, answer);
      return;
    }
    const [cached] = this.#caches(kind);
    if (!cached) return;
    const { namespace, name } = keyOf(key);
    const pending = this.#pending(kind);
    const before = pending.writes.get(`${namespace}/${name}`);
    const shown = cached.get(namespace, name)?.metadata?.uid;
    const uid = [uidIn(answer), before?.uid, shown].find(Boolean) ?? '';
    const resourceVersion = before?.resourceVersion ?? '';
    this.#record(cached, pending, { namespace, name, uid, resourceVersion, fate: 'deleted' });
  }

  /**
   * Resolves when the cache has the own writes of an object, or of all objects of a namespace (`''`: of the kind); undefined when it has
   * them.
   *
   * @throws {ApiError} 504 when that does not happen in time
   */
  wait(kind: Kind, about: Partial<ObjectKey>, { signal }: CallOptions = {}): Promise<void> | undefined {
    const pending = this.#kinds.get(kindKey(kind));
    if (!pending || (pending.writes.size === 0 && pending.floor === '')) return undefined;
    const left = (): readonly string[] => this.#left(kind, pending, about);
    return left().length === 0 ? undefined : this.#wait(kind, left, signal);
  }

  async #wait(kind: Kind, left: () => readonly string[], signal?: AbortSignal): Promise<void> {
    const startedAt = steadyNow(this.#clock);
    const deadline = startedAt + this.#timeoutMs;
    for (;;) {
      const missing = left();
      if (missing.length === 0) break;
      if (steadyNow(this.#clock) >= deadline) throw this.#late(kind, missing);
      await this.#change(kind, deadline, signal);
    }
    this.#waits.observe({ kind: kind.kind }, (steadyNow(this.#clock) - startedAt) / 1000);
  }

  #late(kind: Kind, missing: readonly string[]): ApiError {
    this.#timeouts.add({ kind: kind.kind });
    const message = `the cache of ${kind.resource} did not receive the own writes within ${this.#timeoutMs} ms: ${missing.slice(0, 3).join(', ')}`;
    return new ApiError(504, { reason: 'Timeout', message });
  }

  /** Returns what is waited for, and forgets what has arrived. */
  #left(kind: Kind, pending: Pending, { namespace = '', name }: Partial<ObjectKey>): readonly string[] {
    const caches = this.#caches(kind);
    if (caches.length === 0) return [];
    const missing: string[] = [];
    if (pending.floor !== '') {
      const reached = caches.every((cached) => !isNewer(pending.floor, cached.versionAt(namespace)));
      if (reached) pending.floor = '';
      else missing.push(`version ${pending.floor}`);
    }
    const about = name === undefined ? [...pending.writes] : only(pending.writes, `${namespace}/${name}`);
    for (const [key, write] of about) {
      if (name === undefined && namespace !== '' && write.namespace !== namespace) continue;
      if (caches.every((cached) => hasArrived(cached, write))) pending.writes.delete(key);
      else missing.push(`${key} ${write.resourceVersion}`);
    }
    return missing;
  }

  /** Reports whether there are own writes of a kind that had no informer then: its first list may be older. */
  isUnseen(kind: Kind): boolean {
    return (this.#kinds.get(kindKey(kind))?.floor ?? '') !== '' && this.#caches(kind).length === 0;
  }

  /** The caches of a kind: of whole objects and of metadata. */
  #caches(kind: Kind): readonly KindCache[] {
    return [this.#cache.peek(kind), this.#cache.peek(kind, true)].filter((cached) => cached !== undefined);
  }

  #pending(kind: Kind): Pending {
    const key = kindKey(kind);
    const existing = this.#kinds.get(key) ?? { writes: new Map<string, Write>(), floor: '' };
    this.#kinds.set(key, existing);
    return existing;
  }

  #record(cached: KindCache, pending: Pending, write: Write): void {
    const key = `${write.namespace}/${write.name}`;
    const before = pending.writes.get(key);
    // answers of concurrent writes may overtake each other
    if (before && write.fate !== 'deleted' && isNewer(before.resourceVersion, write.resourceVersion)) return;
    pending.writes.set(key, write);
    if (pending.writes.size <= pruneAbove) return;
    const caches = this.#caches(cached.kind);
    for (const [one, other] of pending.writes)
      if (caches.every((each) => hasArrived(each, other))) pending.writes.delete(one);
  }

  /** Resolves at the next change of the kind's objects, or soon. */
  async #change(kind: Kind, deadline: number, signal?: AbortSignal): Promise<void> {
    const caches = this.#caches(kind);
    const changed = Promise.withResolvers<undefined>();
    const listeners = caches.map((cached) => this.#listenersOf(cached));
    const resolve = (): void => {
      changed.resolve(undefined);
    };
    const abort = (): void => {
      changed.reject(signal?.reason as Error);
    };
    for (const each of listeners) each.add(resolve);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    const waitMs = Math.min(recheckMs, Math.max(1, deadline - steadyNow(this.#clock)));
    const stopTimer = this.#clock.timer(waitMs, resolve);
    try {
      await changed.promise;
    } finally {
      stopTimer();
      for (const each of listeners) each.delete(resolve);
      signal?.removeEventListener('abort', abort);
    }
  }

  #listenersOf(cached: KindCache): Set<() => void> {
    const existing = this.#listeners.get(cached);
    if (existing) return existing;
    const listeners = new Set<() => void>();
    this.#listeners.set(cached, listeners);
    const notify = (): void => {
      for (const listener of listeners) listener();
    };
    cached.addEventHandler({ added: notify, updated: notify, deleted: notify });
    return listeners;
  }
}

/** The UID in the answer to a deletion: of the object, or of the details of a Status. */
function uidIn(answer: KubeObject): string {
  const { details } = answer as { readonly details?: { readonly uid?: string } };
  return details?.uid ?? answer.metadata?.uid ?? '';
}

const only = (writes: ReadonlyMap<string, Write>, key: string): readonly (readonly [string, Write])[] => {
  const write = writes.get(key);
  return write ? [[key, write]] : [];
};

/** Reports whether `a` is newer than `b`; any version is newer than none, and versions without an order count as not newer. */
const isNewer = (a: string, b: string): boolean => (b === '' ? a !== '' : (compareVersions(a, b) ?? -1) > 0);

/** Reports whether a cache shows a write, or a later state. */
function hasArrived(cached: KindCache, { namespace, name, resourceVersion, uid, fate }: Write): boolean {
  const metadata = cached.get(namespace, name)?.metadata;
  const isReached = (): boolean => !isNewer(resourceVersion, cached.versionAt(namespace));
  if (fate === 'deleted')
    return metadata
      ? metadata.deletionTimestamp !== undefined || (uid !== '' && metadata.uid !== uid)
      : resourceVersion === '' || isReached();
  if (!metadata) return fate === 'unselected' || isReached();
  return !isNewer(resourceVersion, metadata.resourceVersion ?? '') || isReached();
}
