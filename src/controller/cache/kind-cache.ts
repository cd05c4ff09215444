import type { Clock, StopTimer } from '../../base/clock.ts';
import { type Random, jitter } from '../../base/random.ts';
import { type ApiClient, ApiError } from '../../api/client.ts';
import {
  Informer as ApiInformer,
  type InformerOptions,
  type Registration,
} from '../../api/cache/informer.ts';
import { dropManagedFields } from '../../api/cache/reflector.ts';
import { storeKey } from '../../api/cache/store.ts';
import type { Logger } from '../../base/logger.ts';
import type {
  CacheSelection,
  HandlerRegistration,
  Informer,
  InformerEventHandler,
  Kind,
  KubeObject,
  NamespaceCacheOptions,
} from '../types.ts';
import type { Selection } from './selection.ts';

/** Dependencies of a cache. */
export interface CacheDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Name of the index by namespace. */
const namespaceIndex = 'namespace';
/** Name of the index of a field. */
const fieldIndex = (field: string): string => `field:${field}`;

/** One informer of a kind: of all namespaces, or of one. */
export interface Part {
  /** `''`: all namespaces. */
  readonly namespace: string;
  /** Namespaces that other parts hold. */
  readonly except: readonly string[];
  readonly informer: ApiInformer<KubeObject>;
}

/** KindCache holds the objects of one kind: with one informer for all namespaces, or one for each selected namespace. */
export class KindCache implements Informer {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly parts: readonly Part[];
  readonly #deps: CacheDeps;
  readonly #stop = new AbortController();
  readonly #indexes = new Set<string>();
  readonly #running: Promise<void>[] = [];
  readonly #onRefusal = new Set<(reason: unknown) => void>();
  #synced = false;
  #stopResync: StopTimer = () => undefined;

  constructor(deps: CacheDeps, kind: Kind, selection: Selection, metadataOnly: boolean) {
    this.#deps = deps;
    this.kind = kind;
    this.selection = selection;
    const named = selection.namespaces.map(({ namespace }) => namespace).filter((one) => one !== '');
    this.parts = selection.namespaces.map(({ namespace, ...options }) => ({
      namespace,
      except: namespace === '' ? named : [],
      informer: new ApiInformer<KubeObject>(deps, kind, {
        ...informerOptions(options, { metadataOnly, keepManagedFields: selection.keepManagedFields }),
        onFailure: (reason) => {
          this.#failed(reason);
        },
        ...(namespace !== '' && { namespace }),
        ...(selection.frozen && { freeze: true }),
        ...(kind.namespaced && {
          indexers: { [namespaceIndex]: namespaceValues() },
        }),
      }),
    }));
  }

  /** Runs until `signal` aborts or {@link stop} is called. */
  start(signal: AbortSignal): void {
    if (this.#running.length > 0 || this.isStopped) return;
    const ends = AbortSignal.any([signal, this.#stop.signal]);
    for (const { informer } of this.parts) this.#running.push(informer.run(ends));
    ends.addEventListener('abort', () => {
      this.stop();
    });
    this.#planResync();
  }

  stop(): void {
    this.#stopResync();
    this.#stop.abort(new Error('the informer was stopped'));
  }

  /** Resolves when nothing runs any more. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Aborts when the informer stops. */
  get ends(): AbortSignal {
    return this.#stop.signal;
  }

  hasSynced(): boolean {
    this.#synced ||= this.parts.every(({ informer }) => informer.synced);
    return this.#synced;
  }

  /** Resolves when every part has its first list; rejects when `signal` aborts first. */
  async waitSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.parts.map(({ informer }) => informer.waitSynced(signal)));
  }

  /** Why the last list or watch of a part without a first list failed. */
  get lastFailure(): unknown {
    return this.parts.find(({ informer }) => !informer.synced && informer.lastFailure !== undefined)?.informer
      .lastFailure;
  }

  /** Reports whether the cache has what the server has now. */
  async isCurrent(signal: AbortSignal): Promise<boolean> {
    for (const selected of this.selection.namespaces) {
      const { items } = await this.#deps.client.list<KubeObject>(this.kind, {
        ...{ signal, metadataOnly: true },
        ...(selected.namespace !== '' && { namespace: selected.namespace }),
        ...selectors(selected),
      });
      const { store } = this.#partOf(selected.namespace)?.informer ?? {};
      const current = items.every(
        (item) => store?.get(storeKey(item))?.metadata?.resourceVersion === versionOf(item),
      );
      if (!current || store?.size !== items.length) return false;
    }
    return true;
  }

  addEventHandler(handler: InformerEventHandler<KubeObject>): HandlerRegistration {
    const registrations = this.parts.map((part): Registration => {
      const isCached = holds(part);
      return part.informer.addHandler({
        added: (object, initial) => {
          if (isCached(object)) handler.added(object, initial);
        },
        updated: (before, after) => {
          if (isCached(after)) handler.updated(before, after);
        },
        deleted: (last, stale) => {
          if (isCached(last)) handler.deleted(last, stale);
        },
      });
    });
    return {
      hasSynced: () => registrations.every(({ synced }) => synced),
      waitSynced: async (signal) => {
        await Promise.all(registrations.map((registration) => registration.waitSynced(signal)));
      },
      remove: () => {
        for (const registration of registrations) registration.remove();
      },
    };
  }

  addIndex(field: string, extract: (object: KubeObject) => readonly string[]): void {
    this.#indexes.add(field);
    for (const { informer } of this.parts) informer.addIndex(fieldIndex(field), extract);
  }

  hasIndex(field: string): boolean {
    return this.#indexes.has(field);
  }

  /** Returns the shared object of a key. */
  get(namespace: string, name: string): KubeObject | undefined {
    const key = namespace === '' ? name : `${namespace}/${name}`;
    return this.#partOf(namespace)?.informer.store.get(key);
  }

  /** Returns the shared objects of a namespace (`''`: of all), those with an index value if one is named. */
  list(namespace: string, by?: { readonly field: string; readonly value: string }): readonly KubeObject[] {
    const only = namespace === '' ? undefined : this.#partOf(namespace);
    const parts = namespace === '' ? this.parts : only ? [only] : [];
    return parts.flatMap((part) => {
      const { store } = part.informer;
      const isCached = holds(part);
      const found = by
        ? store.byIndex(fieldIndex(by.field), by.value)
        : namespace === ''
          ? store.list()
          : store.byIndex(namespaceIndex, namespace);
      const inNamespace = by !== undefined && namespace !== '';
      return found.filter(
        (object) => isCached(object) && (!inNamespace || object.metadata?.namespace === namespace),
      );
    });
  }

  /** The version of the part that holds a namespace. */
  versionAt(namespace: string): string {
    return this.#partOf(namespace)?.informer.resourceVersion ?? '';
  }

  /**
   * Calls `listener` when the server refuses the first list for good: the kind is not served, or may not be read. At once, when that has
   * happened already. The informer itself keeps trying.
   */
  onRefusal(listener: (reason: unknown) => void): () => void {
    this.#onRefusal.add(listener);
    const { lastFailure } = this;
    if (isRefusal(lastFailure)) listener(lastFailure);
    return () => {
      this.#onRefusal.delete(listener);
    };
  }

  #failed(reason: unknown): void {
    if (!this.hasSynced() && isRefusal(reason)) for (const listener of this.#onRefusal) listener(reason);
  }

  #partOf(namespace: string): Part | undefined {
    const [first] = this.parts;
    if (this.parts.length === 1 && first?.namespace === '') return first;
    return (
      this.parts.find((part) => part.namespace === namespace && namespace !== '') ??
      this.parts.find((part) => part.namespace === '')
    );
  }

  #planResync(): void {
    const { clock, random } = this.#deps;
    const { syncPeriod } = this.selection;
    if (syncPeriod <= 0 || this.isStopped) return;
    this.#stopResync = clock.timer(jitter(random, syncPeriod * 0.9, 0.2), () => {
      for (const { informer } of this.parts) informer.resync();
      this.#planResync();
    });
  }
}

const versionOf = ({ metadata }: KubeObject): string | undefined => metadata?.resourceVersion;

/** Returns the index function of namespaces; its values are the same list for each object of a namespace. */
function namespaceValues(): (object: KubeObject) => readonly string[] {
  const values = new Map<string, readonly string[]>();
  return ({ metadata }) => {
    const namespace = metadata?.namespace ?? '';
    let found = values.get(namespace);
    if (!found) values.set(namespace, (found = [namespace]));
    return found;
  };
}

const isRefusal = (reason: unknown): boolean =>
  reason instanceof ApiError && [401, 403, 404].includes(reason.status);

/** Returns a function that reports whether a part delivers an object: one of all namespaces leaves out those of other parts. */
const holds = ({ except }: Part): ((object: KubeObject) => boolean) =>
  except.length === 0 ? () => true : (object) => !except.includes(object.metadata?.namespace ?? '');

const selectors = ({ labelSelector, fieldSelector }: CacheSelection): CacheSelection => ({
  ...(labelSelector !== undefined && { labelSelector }),
  ...(fieldSelector !== undefined && { fieldSelector }),
});

/** Returns the options of an informer that are the same for all objects of a part. */
function informerOptions(
  { transform, ...selected }: NamespaceCacheOptions,
  {
    metadataOnly,
    keepManagedFields,
  }: { readonly metadataOnly: boolean; readonly keepManagedFields: boolean },
): InformerOptions<KubeObject> {
  const own = transform && ((object: KubeObject): KubeObject => transform(object));
  const reduced = own && ((object: KubeObject): KubeObject => own(dropManagedFields(object)));
  const applied = keepManagedFields ? (own ?? ((object: KubeObject): KubeObject => object)) : reduced;
  return {
    ...selectors(selected),
    ...(metadataOnly && { metadataOnly }),
    ...(applied && { transform: applied }),
  };
}
