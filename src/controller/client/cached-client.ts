import { kindKey } from '../kinds.ts';
import type {
  ApplyOptions,
  Cache,
  CallOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  GetOptions,
  Kind,
  KubeObject,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  PatchOptions,
  SubResourceClient,
  WatchEvent,
  WriteOptions,
} from '../types.ts';
import type { LiveClient } from './client.ts';
import type { ReadYourWrites } from './read-your-writes.ts';
import { keyOf } from './request.ts';

/** Which reads a cache serves. */
export interface CacheReads {
  readonly reader: Cache;
  /** Kinds that are always read from the API server. */
  readonly disableFor?: readonly Kind[];
  /** Kinds of which the cache holds the metadata only, also without the option of a read. */
  readonly metadataOnlyFor?: readonly Kind[];
}

/** A read from a cache that may lack the client's own writes. */
interface CachedRead {
  readonly kind: Kind;
  readonly about: Partial<ObjectKey>;
  readonly options: CallOptions;
  readonly own: ReadYourWrites;
}

/** CachedClient reads from a cache and writes to the API server. Subresources and watches are never cached. */
export class CachedClient implements Client {
  readonly #live: LiveClient;
  readonly #cache: Cache;
  readonly #uncached: ReadonlySet<string>;
  readonly #metadataOnly: ReadonlySet<string>;
  readonly #own: ReadYourWrites | undefined;
  readonly status: SubResourceClient;

  constructor(live: LiveClient, reads: CacheReads, own?: ReadYourWrites) {
    this.#live = live;
    this.#cache = reads.reader;
    this.#uncached = new Set(reads.disableFor?.map(kindKey));
    this.#metadataOnly = new Set(reads.metadataOnlyFor?.map(kindKey));
    this.#own = own;
    this.status = this.subResource('status');
  }

  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options: GetOptions = {}): Promise<T> {
    if (this.#isLive(kind)) return this.#live.get(kind, key, options);
    if (!this.#own) return this.#cache.get(kind, key, this.#read(kind, options));
    const about = { namespace: kind.namespaced ? (key.namespace ?? '') : '', name: key.name };
    return this.#current({ kind, about, options, own: this.#own }, () =>
      this.#cache.get(kind, key, this.#read(kind, options)),
    );
  }

  list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    if (this.#isLive(kind)) return this.#live.list(kind, options);
    if (!this.#own) return this.#cache.list(kind, this.#read(kind, options));
    const about = kind.namespaced ? { namespace: options.namespace ?? '' } : {};
    return this.#current({ kind, about, options, own: this.#own }, () =>
      this.#cache.list(kind, this.#read(kind, options)),
    );
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#wrote(kind, options, this.#live.create(kind, object, options));
  }

  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#wrote(kind, options, this.#live.update(kind, object, options));
  }

  patch<T extends KubeObject>(kind: Kind<T>, object: T, patch: Patch, options?: PatchOptions): Promise<T> {
    return this.#wrote(kind, options, this.#live.patch(kind, object, patch, options));
  }

  apply<T extends KubeObject>(kind: Kind<T>, configuration: T, options: ApplyOptions): Promise<T> {
    return this.#wrote(kind, options, this.#live.apply(kind, configuration, options));
  }

  async delete(kind: Kind, object: KubeObject | ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const answer = await this.#live.deleteAndAnswer(kind, object, options);
    if (options.dryRun !== true) this.#own?.deleted(kind, keyOf(object), answer);
  }

  async deleteAllOf(kind: Kind, options: DeleteAllOfOptions): Promise<void> {
    const answer = await this.#live.deleteAllAndAnswer(kind, options);
    const { items = [] } = answer as { readonly items?: readonly KubeObject[] };
    if (options.dryRun !== true) for (const item of items) this.#own?.deleted(kind, keyOf(item), item);
  }

  watch<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): AsyncIterable<WatchEvent<T>> {
    return this.#live.watch(kind, options);
  }

  subResource(name: string): SubResourceClient {
    const live = this.#live.subResource(name);
    return {
      get: (kind, object, options) => live.get(kind, object, options),
      // the answer is the subresource, whose version is that of the object for some kinds only
      create: (kind, object, body, options) => live.create(kind, object, body, options),
      update: (kind, object, options) => this.#wrote(kind, options, live.update(kind, object, options)),
      patch: (kind, object, patch, options) =>
        this.#wrote(kind, options, live.patch(kind, object, patch, options)),
      apply: (kind, configuration, options) =>
        this.#wrote(kind, options, live.apply(kind, configuration, options)),
    };
  }

  /** Reads from the cache once it has the own writes. */
  async #current<R>({ kind, about, options, own }: CachedRead, read: () => Promise<R>): Promise<R> {
    // the first read starts the informer; its first list may be older than a write before
    if (own.isUnseen(kind)) await read().catch(() => undefined);
    const wait = own.wait(kind, about, options);
    if (wait) await wait;
    return read();
  }

  #isLive(kind: Kind): boolean {
    return this.#uncached.size > 0 && this.#uncached.has(kindKey(kind));
  }

  #read<O extends GetOptions | ListOptions>(kind: Kind, options: O): O {
    const metadataOnly = this.#metadataOnly.size > 0 && this.#metadataOnly.has(kindKey(kind));
    return metadataOnly ? { ...options, metadataOnly } : options;
  }

  async #wrote<T extends KubeObject>(
    kind: Kind<T>,
    options: { readonly dryRun?: boolean } | undefined,
    write: Promise<T>,
  ): Promise<T> {
    const object = await write;
    const isOfKind = object.kind === undefined || object.kind === kind.kind;
    if (options?.dryRun !== true && isOfKind && !this.#isLive(kind)) this.#own?.wrote(kind, object);
    return object;
  }
}
