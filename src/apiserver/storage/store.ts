import { ownMember, setOwn } from '../../base/own.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { fieldsOf } from '../../apimachinery/api-types.ts';
import { type Draft, type JsonObject, objectAt, stringAt, withMetadata } from '../../apimachinery/json.ts';
import { expired, internalError, tooLargeVersion } from '../../apimachinery/status-error.ts';

/** One stored object. `json` is its text in storage form, computed once and shared by every reader. */
export interface Entry {
  readonly key: string;
  readonly version: number;
  readonly object: JsonObject;
  readonly json: string;
}

/** One change of one storage, in the order of versions. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  /** The current state; for DELETED the last state with the version of the deletion. */
  readonly entry: Entry;
  /** The state before; absent for ADDED. */
  readonly before?: Entry;
}

/** Journal persists acknowledged writes. `undefined` text deletes. */
export interface Journal {
  /** Stores all writes atomically; returns when they are durable. */
  commit(writes: readonly JournalWrite[], version: number): void;
  load(): { readonly version: number; readonly rows: readonly JournalRow[] };
  close(): void;
}

export interface JournalRow {
  readonly storage: string;
  readonly key: string;
  readonly version: number;
  readonly json: string;
  /** The parsed `json`. */
  readonly object: JsonObject;
}

export interface JournalWrite {
  readonly storage: string;
  readonly key: string;
  readonly version: number;
  readonly json: string | undefined;
}

interface StoreEvents {
  readonly change: readonly [storage: string, changes: readonly Change[]];
}

/** What a storage had at a version. */
export interface Past {
  readonly entries: Iterable<Entry>;
  /** The number of all entries, also of those that are not read. */
  readonly count: number;
}

/** Changes of each storage that stay however old they are: the least that the watch cache of kube-apiserver has room for. */
const leastHistory = 100;

/** Keys that a list copies at a time. */
const keysAtOnce = 1000;

/** Yields the entries whose keys have not changed and those that stood instead of others, all in key order. */
function* inKeyOrder(
  current: Iterable<Entry>,
  changed: ReadonlyMap<string, unknown>,
  standing: readonly Entry[],
): Generator<Entry> {
  const before = standing.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  let next = 0;
  for (const entry of current) {
    if (changed.has(entry.key)) continue;
    for (let other = before[next]; other && other.key < entry.key; other = before[++next]) yield other;
    yield entry;
  }
  yield* before.slice(next);
}

/** Returns `namespace/name`, or the name of a cluster-scoped object. */
export const keyOf = (namespace: string, name: string): string => (namespace ? `${namespace}/${name}` : name);

const keyOfObject = (object: JsonObject): string => {
  const metadata = objectAt(object, 'metadata');
  return keyOf(stringAt(metadata, 'namespace'), stringAt(metadata, 'name'));
};

const metadataFields = [...fieldsOf('ObjectMeta').keys()];

/** Returns the members in Go's order: clients may only look at the beginning of a text. */
function inOrder({ metadata, ...rest }: JsonObject): JsonObject {
  const members = metadata as JsonObject;
  const ordered: Draft = {};
  for (const key of metadataFields)
    if (ownMember(members, key) !== undefined) setOwn(ordered, key, ownMember(members, key));
  return { metadata: ordered, ...rest };
}

/**
 * Reports whether a failure is temporary: a full disk loses nothing and may have space again; after any other failure the state on disk
 * is unknown.
 */
const isForNow = (reason: unknown): boolean =>
  reason instanceof AgentError && reason.code === 'resource_exhausted';

/** Shelf holds one kind's objects in key order, and their recent changes. */
class Shelf {
  readonly entries = new Map<string, Entry>();
  history: Change[] = [];
  /** Changes up to this version are discarded. */
  compacted: number;
  #sorted: string[] | undefined;

  constructor(compacted: number) {
    this.compacted = compacted;
  }

  keys(): readonly string[] {
    this.#sorted ??= [...this.entries.keys()].sort();
    return this.#sorted;
  }

  put(entry: Entry): void {
    if (!this.entries.has(entry.key) && this.#sorted) this.#insert(entry.key);
    this.entries.set(entry.key, entry);
  }

  remove(key: string): void {
    this.entries.delete(key);
    if (!this.#sorted) return;
    const at = this.#find(key);
    if (this.#sorted[at] === key) this.#sorted.splice(at, 1);
  }

  /** Returns the bounds of the keys with a prefix, after a key. */
  range(prefix: string, after: string): readonly [from: number, to: number] {
    this.keys();
    const from = after === '' ? this.#find(prefix) : this.#find(`${after}\u0000`);
    return [from, prefix === '' ? this.entries.size : this.#find(`${prefix}\uffff`)];
  }

  /** Discards at most so many changes from the beginning, up to a version. */
  forget(version: number, most: number): void {
    let count = 0;
    while (count < most && (this.history[count]?.version ?? Infinity) <= version) count++;
    const last = this.history[count - 1];
    if (!last) return;
    this.history = this.history.slice(count);
    this.compacted = last.version;
  }

  #insert(key: string): void {
    this.#sorted?.splice(this.#find(key), 0, key);
  }

  #find(key: string): number {
    const sorted = this.#sorted ?? [];
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface StoreOptions {
  /** Absent: in memory only. */
  readonly journal?: Journal;
  /** Number of changes of each storage that are retained for watches. */
  readonly history?: number;
  /** Runs a function once the current batch of requests has been read; tests may pass one that runs at once. */
  readonly defer?: (fn: () => void) => void;
  /** Called when a batch could not be stored: its writers received errors. Unless the disk was full, the store accepts no more writes. */
  readonly onFailure?: (reason: unknown) => void;
}

/**
 * Store holds all objects under one increasing version, with the recent changes of each kind. Changes are visible at once to the next
 * writer, but neither acknowledged nor delivered before they are durable: all writes of one turn of the event loop share a commit.
 */
export class Store {
  readonly #shelves = new Map<string, Shelf>();
  readonly #events = new Emitter<StoreEvents>();
  readonly #journal: Journal | undefined;
  readonly #historySize: number;
  readonly #defer: (fn: () => void) => void;
  readonly #onFailure: (reason: unknown) => void;
  #version = 1;
  #pending: { storage: string; change: Change }[] = [];
  #flushed: PromiseWithResolvers<undefined> | undefined;
  #failure: unknown;

  constructor(options: StoreOptions = {}) {
    this.#journal = options.journal;
    this.#historySize = options.history ?? 10_000;
    this.#defer = options.defer ?? ((fn) => void setImmediate(fn));
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#load();
  }

  #load(): void {
    const loaded = this.#journal?.load();
    if (!loaded) return;
    this.#version = Math.max(1, loaded.version);
    for (const { storage, ...entry } of loaded.rows) this.#shelf(storage).put(entry);
  }

  /** The version of the latest write. */
  get version(): number {
    return this.#version;
  }

  /** Why the store takes no more writes; undefined while it does. */
  get failure(): unknown {
    return this.#failure;
  }

  get(storage: string, key: string): Entry | undefined {
    return this.#shelves.get(storage)?.entries.get(key);
  }

  /** Yields the current entries with a prefix in key order, from the one after `after` on. */
  *list(storage: string, prefix = '', after = ''): Generator<Entry> {
    const shelf = this.#shelves.get(storage);
    let last = after;
    while (shelf) {
      // some at a time, and a copy: writes between two steps change the list of keys
      const [from, to] = shelf.range(prefix, last);
      const keys = shelf.keys().slice(from, Math.min(to, from + keysAtOnce));
      for (const key of keys) {
        const entry = shelf.entries.get(key);
        if (entry) yield entry;
      }
      if (keys.length < keysAtOnce) return;
      last = keys.at(-1) ?? '';
    }
  }

  /** Returns the number of entries with a prefix after a key. */
  countAfter(storage: string, prefix: string, after: string): number {
    const [from, to] = this.#shelves.get(storage)?.range(prefix, after) ?? [0, 0];
    return Math.max(0, to - from);
  }

  /** Returns the number of objects in a storage. */
  count(storage: string): number {
    return this.#shelves.get(storage)?.entries.size ?? 0;
  }

  /** Returns the names of non-empty storages. */
  storages(): readonly string[] {
    return [...this.#shelves].filter(([, shelf]) => shelf.entries.size > 0).map(([name]) => name);
  }

  /**
   * Returns the entries at `version` with a prefix in key order, from the one after `after` on. Its cost grows with the changes since then and with the
   * entries that are read, not with all that there are.
   *
   * @throws {StatusError} 410 when the version is discarded, 504 when it is in the future
   */
  listAt(storage: string, version: number, prefix = '', after = ''): Past {
    const shelf = this.#shelf(storage);
    if (version > this.#version) throw tooLargeVersion(version, this.#version);
    if (version < shelf.compacted) throw expired(`The resourceVersion for the provided list is too old.`);
    const past = new Map<string, Entry | undefined>();
    for (let i = shelf.history.length - 1; i >= 0; i--) {
      const change = shelf.history[i];
      if (!change || change.version <= version) break;
      const { key } = change.entry;
      if (key.startsWith(prefix) && key > after) past.set(key, change.before);
    }
    const standing = [...past.values()].filter((entry) => entry !== undefined);
    const others = [...past.keys()].filter((key) => shelf.entries.has(key)).length;
    return {
      entries: inKeyOrder(this.list(storage, prefix, after), past, standing),
      count: this.countAfter(storage, prefix, after) - others + standing.length,
    };
  }

  /** Returns the changes after `version`, oldest first; `undefined` when they are discarded. */
  changesSince(storage: string, version: number): readonly Change[] | undefined {
    const shelf = this.#shelf(storage);
    if (version < shelf.compacted) return undefined;
    const announced = shelf.history;
    let at = announced.length;
    while (at > 0 && (announced[at - 1]?.version ?? 0) > version) at--;
    return announced.slice(at);
  }

  /** Writes one object with the next version. */
  put(storage: string, object: JsonObject): Entry {
    this.#check();
    const version = ++this.#version;
    const stored = inOrder(withMetadata(object, { resourceVersion: String(version) }));
    const key = keyOfObject(stored);
    const before = this.get(storage, key);
    const entry: Entry = { key, version, object: stored, json: JSON.stringify(stored) };
    this.#shelf(storage).put(entry);
    this.#remember(storage, {
      type: before ? 'MODIFIED' : 'ADDED',
      version,
      entry,
      ...(before && { before }),
    });
    return entry;
  }

  /** Removes one object; its last state is delivered with the version of the deletion. */
  delete(storage: string, key: string, last?: JsonObject): Entry | undefined {
    this.#check();
    const before = this.get(storage, key);
    if (!before) return undefined;
    const version = ++this.#version;
    const object = withMetadata(last ?? before.object, { resourceVersion: String(version) });
    const entry: Entry = { key, version, object, json: JSON.stringify(object) };
    this.#shelf(storage).remove(key);
    this.#remember(storage, { type: 'DELETED', version, entry, before });
    return entry;
  }

  /** Calls `listener` with the changes of each commit. */
  onChange(listener: (storage: string, changes: readonly Change[]) => void): () => void {
    return this.#events.on('change', listener);
  }

  /** Resolves when everything written so far is durable; rejects when it could not be stored. */
  async settled(): Promise<void> {
    this.#check();
    await this.#flushed?.promise;
  }

  /** Whether writes are waiting for their commit. */
  get busy(): boolean {
    return this.#flushed !== undefined;
  }

  /** Discards the history: older resource versions answer 410 from now on. */
  compact(): void {
    this.flush();
    for (const shelf of this.#shelves.values()) {
      shelf.history = [];
      shelf.compacted = this.#version;
    }
    this.#floor = this.#version;
  }

  /** Discards changes up to a version, but for the latest hundred of each storage, with which a watch can go on however old they are. */
  forget(version: number): void {
    for (const shelf of this.#shelves.values()) shelf.forget(version, shelf.history.length - leastHistory);
  }

  close(): void {
    this.flush();
    this.#journal?.close();
  }

  #floor = 0;

  #shelf(storage: string): Shelf {
    let shelf = this.#shelves.get(storage);
    if (!shelf) {
      shelf = new Shelf(Math.max(this.#floor, this.#journal ? this.#version : 0));
      this.#shelves.set(storage, shelf);
    }
    return shelf;
  }

  #check(): void {
    if (this.#failure !== undefined)
      throw new Error('the store could not keep an earlier write and takes no more', {
        cause: this.#failure,
      });
  }

  #remember(storage: string, change: Change): void {
    this.#pending.push({ storage, change });
    if (this.#flushed) return;
    this.#flushed = Promise.withResolvers<undefined>();
    this.#flushed.promise.catch(() => undefined);
    this.#defer(() => {
      this.flush();
    });
  }

  /** Commits waiting writes and delivers their changes. */
  flush(): void {
    const flushed = this.#flushed;
    if (!flushed) return;
    const batch = this.#pending;
    this.#pending = [];
    this.#flushed = undefined;
    try {
      this.#journal?.commit(batch.map(journalWrite), this.#version);
    } catch (reason) {
      this.#undo(batch);
      if (!isForNow(reason)) this.#failure = reason;
      this.#onFailure(reason);
      flushed.reject(isForNow(reason) ? internalError(messageOf(reason)) : reason);
      return;
    }
    const byStorage = new Map<string, Change[]>();
    for (const { storage, change } of batch) {
      const changes = byStorage.get(storage);
      if (changes) changes.push(change);
      else byStorage.set(storage, [change]);
    }
    for (const [storage, changes] of byStorage) {
      this.#trim(this.#shelf(storage), changes);
      this.#events.emit('change', storage, changes);
    }
    flushed.resolve(undefined);
  }

  /** Undoes writes that could not be stored. */
  #undo(batch: readonly { readonly storage: string; readonly change: Change }[]): void {
    for (const { storage, change } of batch.toReversed()) {
      const shelf = this.#shelf(storage);
      if (change.before) shelf.put(change.before);
      else shelf.remove(change.entry.key);
    }
  }

  #trim(shelf: Shelf, changes: readonly Change[]): void {
    for (const change of changes) shelf.history.push(change);
    if (shelf.history.length <= this.#historySize * 1.25) return;
    shelf.forget(this.#version, shelf.history.length - this.#historySize);
  }
}

const journalWrite = ({ storage, change }: { storage: string; change: Change }): JournalWrite => ({
  storage,
  key: change.entry.key,
  version: change.version,
  json: change.type === 'DELETED' ? undefined : change.entry.json,
});
