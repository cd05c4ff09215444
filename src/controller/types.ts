import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { Patch as ApiPatch } from '../api/client.ts';

/**
 * A type of `@kubernetes/client-node` as its objects really are in JSON: times are RFC 3339 text, and fields have their API names (`continue`
 * instead of `_continue`). Members may be assigned.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]> }
      : T;

export type ObjectMeta = Wire<V1ObjectMeta>;

/**
 * Members shared by all API objects; extend it for custom resources.
 *
 * @example
 * interface Memcached extends KubeObject {
 *   spec: { size: number };
 *   status?: { nodes: string[] };
 * }
 */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** An object whose members are not declared: of a kind without a TypeScript type. */
export type UnstructuredObject = KubeObject & Record<string, unknown>;

declare const objectType: unique symbol;

/** Kind says where a kind is served, and by its parameter what its objects look like. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** `''` is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** Carries the type of the objects; never set. */
  readonly [objectType]?: T;
}

/** The type of a kind's objects: `ObjectOf<typeof kinds.Pod>`. */
export type ObjectOf<K extends Kind> = K extends Kind<infer T> ? T : never;

/** Identifies the object that a reconcile is about. */
export interface Request {
  /** `''` for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** Identifies an object within its kind. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Deadline of the call, ms. */
  readonly timeoutMs?: number;
}

export interface GetOptions extends CallOptions {
  /** Serves a version that is at least this new; only from the API server. */
  readonly resourceVersion?: string;
  /** Reads the metadata only: the result has `apiVersion`, `kind` and `metadata`. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends CallOptions {
  /** Absent or `''`: all namespaces. */
  readonly namespace?: string;
  /** A label selector as text, or labels that must all be equal. */
  readonly labels?: Readonly<Record<string, string>> | string;
  /** Fields that must all be equal. From a cache: fields with an index, see `indexField`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Returns at most this many objects and a `continue` token. Absent: all objects, which are read in pages. */
  readonly limit?: number;
  /** Token of the previous page. */
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly metadataOnly?: boolean;
}

/** The objects of a list; the members besides the objects are not enumerable. */
export type ObjectList<T extends KubeObject> = readonly T[] & {
  /** Token for the next page; `''` at the end. */
  readonly continue: string;
  /** Version of the list; `''` from a fake or a merged cache. */
  readonly resourceVersion: string;
  readonly remainingItemCount?: number;
};

/** Options of calls that write. */
export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldOwner?: string;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

export interface DeleteAllOfOptions extends DeleteOptions {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>> | string;
  readonly fields?: Readonly<Record<string, string>>;
}

export interface PatchOptions extends WriteOptions {
  /** Only for apply: takes over fields of other owners. */
  readonly force?: boolean;
}

export interface ApplyOptions extends CallOptions {
  readonly fieldOwner: string;
  /** Takes over fields of other owners. */
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

/** Patch is a change of an object in one of the formats of the API server. */
export interface Patch {
  readonly type: ApiPatch['type'];
  /** Returns the patch for an object: its body as an object, or as text that is sent unchanged. */
  data(object: KubeObject): object | string;
}

export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** `object` has only a `metadata.resourceVersion`. */
  | { readonly type: 'BOOKMARK'; readonly object: T };

/** Reader reads objects: from the API server or from a cache. */
export interface Reader {
  /** @throws {ApiError} with `status` 404 when there is no such object */
  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options?: GetOptions): Promise<T>;
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<ObjectList<T>>;
}

/** SubResourceClient reads and writes one subresource of objects, e.g. `status`. */
export interface SubResourceClient {
  get<T extends KubeObject, S extends KubeObject = KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: GetOptions,
  ): Promise<S>;
  create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    subResource: KubeObject,
    options?: WriteOptions,
  ): Promise<KubeObject>;
  update<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: WriteOptions & { readonly subResourceBody?: KubeObject },
  ): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    patch: Patch,
    options?: PatchOptions & { readonly subResourceBody?: KubeObject },
  ): Promise<T>;
  /** Performs a server-side apply; `subResourceBody` is the configuration of a subresource of another kind, such as a Scale. */
  apply<T extends KubeObject>(
    kind: Kind<T>,
    configuration: T,
    options: ApplyOptions & { readonly subResourceBody?: KubeObject },
  ): Promise<T>;
}

/** Client reads and writes objects. Every call rejects with an {@link ApiError} that carries `status` (HTTP) and `reason`. */
export interface Client extends Reader {
  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(kind: Kind<T>, object: T, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Performs a server-side apply. */
  apply<T extends KubeObject>(kind: Kind<T>, configuration: T, options: ApplyOptions): Promise<T>;
  delete(kind: Kind, object: KubeObject | ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteAllOf(kind: Kind, options: DeleteAllOfOptions): Promise<void>;
  /**
   * Watches continuously: first the objects that exist as `ADDED` (unless `resourceVersion` is set), then each change. A cut connection is
   * opened again and loses nothing. Ends with `signal` or when the loop is left.
   */
  watch<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): AsyncIterable<WatchEvent<T>>;
  readonly status: SubResourceClient;
  subResource(name: string): SubResourceClient;
}

/** Handler of an informer. Objects are shared: do not modify them. */
export interface InformerEventHandler<T extends KubeObject> {
  /** @param isInInitialList whether the object existed before the handler was added */
  added(object: T, isInInitialList: boolean): void;
  updated(before: T, after: T): void;
  /** @param unknownFinalState whether the deletion itself was missed; `last` is the last state seen */
  deleted(last: T, unknownFinalState: boolean): void;
}

/** The registration of a handler with an informer. */
export interface HandlerRegistration {
  /** Reports whether the handler has received the whole first list. */
  hasSynced(): boolean;
  /** Resolves when {@link hasSynced} turns true; rejects when `signal` aborts first. */
  waitSynced(signal: AbortSignal): Promise<void>;
  /** Removes the handler; it receives nothing more. */
  remove(): void;
}

/** Informer delivers the changes of one kind. */
export interface Informer<T extends KubeObject = KubeObject> {
  addEventHandler(handler: InformerEventHandler<T>): HandlerRegistration;
  /** Reports whether the first list is in the cache. */
  hasSynced(): boolean;
  readonly isStopped: boolean;
}

/** Cache holds objects of any kinds in memory, kept in sync by informers that start on first use. */
export interface Cache extends Reader {
  /** Returns the informer of a kind and starts it. Resolves when it has its first list if the cache runs, otherwise at once. */
  getInformer<T extends KubeObject>(
    kind: Kind<T>,
    options?: { readonly metadataOnly?: boolean },
  ): Promise<Informer<T>>;
  /** Stops the informer of a kind and removes its objects. */
  removeInformer(kind: Kind): void;
  /** Runs the informers until `signal` aborts; resolves when all have stopped. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves to true when every informer has its first list, to false when `signal` aborts first. */
  waitForCacheSync(signal: AbortSignal): Promise<boolean>;
  /** Adds an index by which `list` with `fields` finds objects. Call it before the informer of the kind has started. */
  indexField<T extends KubeObject>(
    kind: Kind<T>,
    field: string,
    extract: (object: T) => readonly string[],
  ): Promise<void>;
}

/** What a cache holds of objects; applies to all kinds, or to one. */
export interface CacheSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/**
 * Changes an object before it is stored in a cache: drop what is not needed. It may write to the object.
 *
 * The type is that of a method, so that options of different kinds fit into one list.
 */
export type Transform<T extends KubeObject = KubeObject> = { apply(object: T): T }['apply'];

/** The selection within one namespace. */
export interface NamespaceCacheOptions<T extends KubeObject = KubeObject> extends CacheSelection {
  readonly transform?: Transform<T>;
}

/** Cache options of one kind. */
export interface KindCacheOptions<T extends KubeObject = KubeObject> extends NamespaceCacheOptions<T> {
  readonly kind: Kind<T>;
  /** Only objects in these namespaces; by name, or with options of their own. `allNamespaces` as a name holds all others. */
  readonly namespaces?: readonly string[] | Readonly<Record<string, NamespaceCacheOptions<T>>>;
  /** Freezes the objects deeply, so that a write to a shared object throws. */
  readonly frozen?: boolean;
  /** Overrides the cache's `syncPeriod`, ms. */
  readonly syncPeriod?: number;
}

export interface CacheOptions {
  readonly byKind?: readonly KindCacheOptions[];
  readonly defaultNamespaces?: readonly string[] | Readonly<Record<string, NamespaceCacheOptions>>;
  readonly defaultLabelSelector?: string;
  readonly defaultFieldSelector?: string;
  readonly defaultTransform?: Transform;
  /** Freezes the objects of all kinds; for development and tests. */
  readonly frozen?: boolean;
  /** Keeps `metadata.managedFields`, often a third of an object; by default they are dropped before the transform. */
  readonly keepManagedFields?: boolean;
  /** Every object is delivered again as an update after this time, ± 10 %, ms. Default 10 h. */
  readonly syncPeriod?: number;
  /** Rejects reads of kinds without an informer, instead of starting one. */
  readonly readerFailOnMissingInformer?: boolean;
}
