import { ownMember, setOwn } from '../../base/own.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { fieldsOf } from '../../apimachinery/api-types.ts';
import { type Draft, type JsonObject, objectAt, stringAt, withMetadata } from '../../apimachinery/json.ts';
import { expired, internalError, tooLargeVersion } from '../../apimachinery/status-error.ts';

/** One stored object. `json` is its text in storage form, made once and shared by every reader. */
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
  /** What stands now; for DELETED the last state under the version of the deletion. */
  readonly entry: Entry;
  /** What stood before; absent for ADDED. */
  readonly before?: Entry;
}

/** Where acknowledged writes are kept. `undefined` text deletes. */
export interface Journal {
  /** Keeps all writes at once, or none; returns when they are safe on disk. */
  commit(writes: readonly JournalWrite[], version: number): void;
  load(): { readonly version: number; readonly rows: readonly JournalRow[] };
  close(): void;
}

export interface JournalRow {
  readonly storage: string;
  readonly key: string;
  readonly version: number;
  readonly json: string;
  /** What `json` says. */
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

/** `namespace/name`, or the name of a cluster-scoped object. */
export const keyOf = (namespace: string, name: string): string => (namespace ? `${namespace}/${name}` : name);

const keyOfObject = (object: JsonObject): string => {
  const metadata = objectAt(object, 'metadata');
  return keyOf(stringAt(metadata, 'namespace'), stringAt(metadata, 'name'));
};

const metadataFields = [...fieldsOf('ObjectMeta').keys()];

/** As Go writes it: clients may look at the beginning of a text only. */
function inOrder({ metadata, ...rest }: JsonObject): JsonObject {
  const given = metadata as JsonObject;
  const ordered: Draft = {};
  for (const key of metadataFields)
    if (ownMember(given, key) !== undefined) setOwn(ordered, key, ownMember(given, key));
  return { metadata: ordered, ...rest };
}

/** A full disk loses nothing that was kept, and may have room again; of anything else nobody knows what it left on the disk. */
const isForNow = (reason: unknown): boolean =>
  reason instanceof AgentError && reason.code === 'resource_exhausted';

/** One kind's objects, in key order, with the changes that led there. */
class Shelf {
  readonly entries = new Map<string, Entry>();
  history: Change[] = [];
  /** Changes up to here are forgotten. */
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
  /** How many changes of each storage are remembered for watches. */
  readonly history?: number;
  /** Runs a function once the current batch of requests has been read; tests may pass one that runs at once. */
  readonly defer?: (fn: () => void) => void;
  /** Told when a batch could not be kept: its writers were refused. Unless the disk was full, the store accepts no more writes. */
  readonly onFailure?: (reason: unknown) => void;
}

/**
 * All objects under one ever rising version, with the recent past of each kind. Changes are visible at once to the next writer, but neither
 * acknowledged nor announced before they are safe: all writes of one turn of the event loop share a commit.
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
    const kept = this.#journal?.load();
    if (!kept) return;
    this.#version = Math.max(1, kept.version);
    for (const { storage, ...entry } of kept.rows) this.#shelf(storage).put(entry);
  }

  /** The version of the latest write. */
  get version(): number {
    return this.#version;
  }

  get(storage: string, key: string): Entry | undefined {
    return this.#shelves.get(storage)?.entries.get(key);
  }

  /** Every entry in key order, at the present. */
  *list(storage: string, prefix = ''): Generator<Entry> {
    const shelf = this.#shelves.get(storage);
    if (!shelf) return;
    for (const key of shelf.keys()) {
      if (!key.startsWith(prefix)) continue;
      const entry = shelf.entries.get(key);
      if (entry) yield entry;
    }
  }

  /** How many objects a storage holds. */
  count(storage: string): number {
    return this.#shelves.get(storage)?.entries.size ?? 0;
  }

  /** Names of the storages that hold anything. */
  storages(): readonly string[] {
    return [...this.#shelves].filter(([, shelf]) => shelf.entries.size > 0).map(([name]) => name);
  }

  /** Entries in key order as they stood at `version`. @throws {StatusError} 410 when that is forgotten, 504 when it has not come */
  listAt(storage: string, version: number): readonly Entry[] {
    const shelf = this.#shelf(storage);
    if (version > this.#version) throw tooLargeVersion(version, this.#version);
    if (version < shelf.compacted) throw expired(`The resourceVersion for the provided list is too old.`);
    const past = new Map(shelf.entries);
    for (let i = shelf.history.length - 1; i >= 0; i--) {
      const change = shelf.history[i];
      if (!change || change.version <= version) break;
      if (change.before) past.set(change.entry.key, change.before);
      else past.delete(change.entry.key);
    }
    return [...past.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Changes after `version`, oldest first; `undefined` when they are forgotten. */
  changesSince(storage: string, version: number): readonly Change[] | undefined {
    const shelf = this.#shelf(storage);
    if (version < shelf.compacted) return undefined;
    const announced = shelf.history;
    let at = announced.length;
    while (at > 0 && (announced[at - 1]?.version ?? 0) > version) at--;
    return announced.slice(at);
  }

  /** Writes one object: gives it the next version. */
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

  /** Removes one object; the last state is announced under the version of the deletion. */
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

  /** Resolves when everything written so far is safe; rejects when it could not be kept. */
  async settled(): Promise<void> {
    this.#check();
    await this.#flushed?.promise;
  }

  /** Whether writes wait for their commit. */
  get busy(): boolean {
    return this.#flushed !== undefined;
  }

  /** Forgets the past: older resource versions answer 410 from now on. */
  compact(): void {
    this.flush();
    for (const shelf of this.#shelves.values()) {
      shelf.history = [];
      shelf.compacted = this.#version;
    }
    this.#floor = this.#version;
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

  /** Commits what waits and announces it. */
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

  /** What could not be kept is as if it had never been written. */
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
    const dropped = shelf.history.splice(0, shelf.history.length - this.#historySize);
    shelf.compacted = dropped.at(-1)?.version ?? shelf.compacted;
  }
}

const journalWrite = ({ storage, change }: { storage: string; change: Change }): JournalWrite => ({
  storage,
  key: change.entry.key,
  version: change.version,
  json: change.type === 'DELETED' ? undefined : change.entry.json,
});
