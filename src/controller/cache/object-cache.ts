import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { Latch } from '../../base/latch.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { labelMatcher } from '../../apimachinery/selectors.ts';
import { notFound, StatusError } from '../../apimachinery/status-error.ts';
import { type ApiClient, ApiError } from '../../api/client.ts';
import { apiErrorOf, labelSelectorOf, objectList, refOf } from '../client/request.ts';
import { cloneJson, jsonOf } from '../json-value.ts';
import { kindKey } from '../kinds.ts';
import type {
  Cache,
  CacheOptions,
  GetOptions,
  Informer,
  Kind,
  KubeObject,
  ListOptions,
  ObjectKey,
  ObjectList,
} from '../types.ts';
import { type CacheDeps, KindCache } from './kind-cache.ts';
import { selectionOf } from './selection.ts';

/** Dependencies of a cache. */
export interface CacheDependencies {
  readonly client: ApiClient;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** How long a read waits for the first list of its kind, ms. */
const firstListMs = 120_000;

type Extract = (object: KubeObject) => readonly string[];

/**
 * ObjectCache holds objects of any kinds, each kept in sync by an informer that starts when the kind is first read or watched. Reads return
 * copies, which the caller owns; with `frozen` they return the shared objects, which throw when they are written to.
 */
export class ObjectCache implements Cache {
  readonly #deps: CacheDeps;
  readonly #options: CacheOptions;
  readonly #kinds = new Map<string, KindCache>();
  /** The last one that had its first list, by the kind as callers pass it; one that has stopped is not in `#kinds` any more. */
  readonly #whole = new WeakMap<Kind, KindCache>();
  readonly #indexes = new Map<string, Map<string, Extract>>();
  readonly #started = new Latch();
  #signal: AbortSignal | undefined;

  constructor(deps: CacheDependencies, options: CacheOptions = {}) {
    const { client, clock = systemClock, random = systemRandom, logger = silentLogger } = deps;
    this.#deps = { client, clock, random, logger };
    this.#options = options;
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options: GetOptions = {}): Promise<T> {
    const ref = refOf(kind, key);
    const cached = this.#synced(kind, options) ?? (await this.#readable(kind, options));
    const object = cached.get(ref.namespace ?? '', ref.name);
    if (object) return this.#owned(cached, object) as T;
    const { group, resource } = kind;
    throw apiErrorOf(notFound({ kind: resource, name: ref.name, ...(group !== '' && { group }) }));
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    if (options.continue !== undefined && options.continue !== '')
      throw new AgentError('invalid_argument', 'continue list option is not supported by the cache');
    const cached = this.#synced(kind, options) ?? (await this.#readable(kind, options));
    const selected = this.#selected(cached, options);
    const most = options.limit === undefined || options.limit <= 0 ? selected.length : options.limit;
    return objectList(
      selected.slice(0, most).map((object) => this.#owned(cached, object) as T),
      {},
    );
  }

  async getInformer<T extends KubeObject>(
    kind: Kind<T>,
    options: { readonly metadataOnly?: boolean } = {},
  ): Promise<Informer<T>> {
    const cached = this.#kindCache(kind, options.metadataOnly ?? false);
    if (this.#signal) await cached.waitSynced(AbortSignal.any([this.#signal, cached.ends]));
    return cached;
  }

  removeInformer(kind: Kind): void {
    for (const metadataOnly of [false, true]) {
      const key = cacheKey(kind, metadataOnly);
      this.#kinds.get(key)?.stop();
      this.#kinds.delete(key);
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#signal) throw new AgentError('failed_precondition', 'the cache is started already');
    this.#signal = signal;
    for (const cached of this.#kinds.values()) cached.start(signal);
    this.#started.open();
    const ended = new Latch();
    signal.addEventListener('abort', () => {
      ended.open();
    });
    if (!signal.aborted) await ended.wait();
    await Promise.all([...this.#kinds.values()].map((cached) => cached.stopped()));
  }

  async waitForCacheSync(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#started.wait(signal);
      const ends = AbortSignal.any([signal, ...(this.#signal ? [this.#signal] : [])]);
      for (const cached of this.#kinds.values())
        await cached.waitSynced(AbortSignal.any([ends, cached.ends])).catch((reason: unknown) => {
          // one that was removed meanwhile is not waited for
          if (ends.aborted) throw reason;
        });
      return true;
    } catch {
      return false;
    }
  }

  indexField<T extends KubeObject>(
    kind: Kind<T>,
    field: string,
    extract: (object: T) => readonly string[],
  ): Promise<void> {
    const key = kindKey(kind);
    const indexes = this.#indexes.get(key) ?? new Map<string, Extract>();
    if (indexes.has(field))
      return Promise.reject(
        new AgentError('invalid_argument', `indexer conflict: ${kind.kind} has an index on ${field} already`),
      );
    this.#indexes.set(key, indexes.set(field, extract as Extract));
    for (const metadataOnly of [false, true])
      this.#kinds.get(cacheKey(kind, metadataOnly))?.addIndex(field, extract as Extract);
    return Promise.resolve();
  }

  /** Returns what the cache has of a kind now, without starting an informer. */
  peek(kind: Kind, metadataOnly = false): KindCache | undefined {
    return this.#kinds.get(cacheKey(kind, metadataOnly));
  }

  /** Reports whether every kind has what the server has now. Lists the metadata of all of them: for tests. */
  async isCurrent(signal: AbortSignal): Promise<boolean> {
    for (const cached of this.#kinds.values())
      if (cached.hasSynced() && !(await cached.isCurrent(signal))) return false;
    return true;
  }

  #owned(cached: KindCache, object: KubeObject): KubeObject {
    return cached.selection.frozen ? object : cloneJson(object);
  }

  #selected(cached: KindCache, options: ListOptions): readonly KubeObject[] {
    const { namespace = '', fields = {} } = options;
    const terms = Object.entries(fields).map(([field, value]) => ({
      field,
      value,
      extract: this.#extractOf(cached, field),
    }));
    const [first] = terms.filter(({ field }) => cached.hasIndex(field));
    const found = cached.list(cached.kind.namespaced ? namespace : '', first);
    const byLabels = matcherOf(options.labels);
    return found.filter(
      (object) => terms.every(({ value, extract }) => extract(object).includes(value)) && byLabels(object),
    );
  }

  #extractOf({ kind }: KindCache, field: string): Extract {
    const extract = this.#indexes.get(kindKey(kind))?.get(field) ?? nameFields.get(field);
    if (extract) return extract;
    throw new AgentError(
      'invalid_argument',
      `Index with name field:${field} does not exist: call indexField for ${kind.kind} before`,
    );
  }

  /** Returns the kind's cache if it has its first list. */
  #synced(kind: Kind, { metadataOnly }: GetOptions | ListOptions): KindCache | undefined {
    const existing = metadataOnly === true ? undefined : this.#whole.get(kind);
    if (existing && !existing.isStopped) return existing;
    const cached = this.#signal && this.peek(kind, metadataOnly);
    if (cached?.hasSynced() !== true) return undefined;
    if (metadataOnly !== true) this.#whole.set(kind, cached);
    return cached;
  }

  /** Returns the kind's cache once it has its first list. */
  async #readable(kind: Kind, options: GetOptions | ListOptions): Promise<KindCache> {
    const metadataOnly = options.metadataOnly ?? false;
    if (!this.#signal)
      throw new AgentError('failed_precondition', 'the cache is not started, can not read objects');
    if (this.#options.readerFailOnMissingInformer === true && !this.peek(kind, metadataOnly))
      throw new AgentError('failed_precondition', `${kindKey(kind)} is not cached: it has no informer`);
    const cached = this.#kindCache(kind, metadataOnly);
    if (!cached.hasSynced()) await this.#firstList(cached, options, this.#signal);
    return cached;
  }

  /** @throws {ApiError} when the kind is not served or may not be read, or its list does not come in time */
  async #firstList(
    cached: KindCache,
    { signal, timeoutMs = firstListMs }: GetOptions,
    running: AbortSignal,
  ): Promise<void> {
    const stop = new AbortController();
    const why = (): string => (cached.lastFailure === undefined ? '' : `: ${messageOf(cached.lastFailure)}`);
    const stopTimer = this.#deps.clock.timer(timeoutMs, () => {
      const message = `the cache of ${cached.kind.resource} has no first list after ${timeoutMs} ms${why()}`;
      stop.abort(new ApiError(504, { reason: 'Timeout', message }));
    });
    const stopListening = cached.onRefusal((reason) => {
      stop.abort(reason);
    });
    try {
      const ends = [running, cached.ends, stop.signal, ...(signal ? [signal] : [])];
      await cached.waitSynced(AbortSignal.any(ends));
    } finally {
      stopTimer();
      stopListening();
    }
  }

  #kindCache(kind: Kind, metadataOnly: boolean): KindCache {
    const key = cacheKey(kind, metadataOnly);
    const existing = this.#kinds.get(key);
    if (existing) return existing;
    const cached = new KindCache(this.#deps, kind, selectionOf(this.#options, kind), metadataOnly);
    for (const [field, extract] of this.#indexes.get(kindKey(kind)) ?? []) cached.addIndex(field, extract);
    this.#kinds.set(key, cached);
    if (this.#signal) cached.start(this.#signal);
    return cached;
  }
}

const cacheKey = (kind: Kind, metadataOnly: boolean): string =>
  `${kindKey(kind)}${metadataOnly ? ' metadata' : ''}`;

/** Fields that need no index. */
const nameFields: ReadonlyMap<string, Extract> = new Map<string, Extract>([
  ['metadata.name', ({ metadata }) => [metadata?.name ?? '']],
  ['metadata.namespace', ({ metadata }) => [metadata?.namespace ?? '']],
]);

/** @throws {ApiError} 400 */
function matcherOf(labels: ListOptions['labels']): (object: KubeObject) => boolean {
  const text = labelSelectorOf(labels);
  if (text === undefined) return () => true;
  try {
    const matches = labelMatcher(text);
    return (object) => matches(jsonOf(object));
  } catch (reason) {
    throw reason instanceof StatusError ? apiErrorOf(reason) : reason;
  }
}
