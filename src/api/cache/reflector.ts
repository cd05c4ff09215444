import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { KubeObject } from '../../kube/types.ts';
import { type BackOffOptions, FullJitter, reflectorBackOff } from '../../base/backoff.ts';
import { type ApiClient, ApiError, hasCause } from '../client.ts';
import type { KnownObjects } from './known-objects.ts';
import { listAll } from './list-pager.ts';
import type { Resource } from '../resources.ts';
import { unreachable } from '../rest/transport.ts';
import { isExpired, type Scope, type WatchEnd, WatchSession } from './watch-session.ts';

/** ReflectorSink receives what a reflector observes. Calls never overlap. */
export interface ReflectorSink<T extends KubeObject> {
  /** Receives the complete state at one point in time. */
  replace(items: readonly T[]): void;
  /** Receives an object that was created or changed after the last `replace`. */
  seen(object: T): void;
  /** Receives a deleted object in its last state. */
  deleted(object: T): void;
}

/** What to mirror, and how. */
export interface ReflectorOptions<T extends KubeObject> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Mirrors `apiVersion`, `kind` and `metadata` only. */
  readonly metadataOnly?: boolean;
  /**
   * Applied to each object before it is delivered; `deleted` is true for the last state of a deleted object. Default {@link
   * dropManagedFields}.
   */
  readonly transform?: (object: T, deleted: boolean) => T;
  /** Versions already received in responses to other calls. */
  readonly knownObjects?: KnownObjects<T>;
  /** Objects per page of a list. Default 500; 0: all at once. */
  readonly pageSize?: number;
  /** Requests the first list as a stream of events where the server supports it (WatchList). Default true. */
  readonly streamingList?: boolean;
  /** A watch that is silent for longer counts as broken, ms. Default 90 s: servers send bookmarks every minute. */
  readonly idleTimeoutMs?: number;
  /** Shortest timeout that is requested for a watch; the actual one is random, up to twice as long. Default 5 min. */
  readonly minWatchMs?: number;
  readonly backOff?: BackOffOptions;
  /** Receives why a list or watch failed; the reflector goes on by itself. */
  readonly onFailure?: (reason: unknown) => void;
}

export interface ReflectorDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** Counters of a reflector since it started. */
export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly failures: number;
}

/** Timeout of a list with all its pages, ms. */
const longestListMs = 10 * 60_000;

/** Removes managed fields, which only the server reads: often a third of an object's bytes. */
export function dropManagedFields<T extends KubeObject>(object: T): T {
  if (!object.metadata?.managedFields) return object;
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * Reflector mirrors one kind continuously: a list, then one watch after another, each from where the last one ended. It lists again only
 * when the server no longer has the history (410) or has gone back in time; after any other failure it opens a new watch from the last
 * version received, after a full-jitter back-off. Nothing is delivered twice.
 *
 * Follows client-go `tools/cache.Reflector`.
 */
export class Reflector<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #resource: Resource;
  readonly #options: ReflectorOptions<T>;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #backOff: FullJitter;
  #streaming: boolean;
  #brokenStreams = 0;
  /** The resource version of the mirror; `''` before the first list. */
  #version = '';
  /** Whether the next list must not be served from a cache that may be behind. */
  #wantsFresh = false;
  #lastFailure: unknown;
  #stats = { lists: 0, watches: 0, events: 0, failures: 0 };

  constructor(deps: ReflectorDeps, resource: Resource, options: ReflectorOptions<T> = {}) {
    this.#deps = deps;
    this.#resource = resource;
    this.#options = options;
    this.#random = deps.random ?? systemRandom;
    this.#logger = (deps.logger ?? silentLogger).with({ resource: resource.resource });
    this.#backOff = new FullJitter(deps.clock, this.#random, options.backOff ?? reflectorBackOff);
    this.#streaming = options.streamingList ?? true;
  }

  /** The resource version of the mirror; `''` before the first list. */
  get resourceVersion(): string {
    return this.#version;
  }

  get stats(): ReflectorStats {
    return this.#stats;
  }

  /** Why the last list or watch failed; undefined after one that succeeded. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** Mirrors into `sink` until `signal` aborts, then resolves. Never rejects. */
  async run(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    let listed = false;
    while (!signal.aborted) {
      try {
        if (!listed) await this.#list(sink, signal);
        listed = true;
        listed = await this.#watch(sink, signal);
      } catch (reason) {
        if (isAborted(signal)) return;
        await this.#failed(reason, signal);
      }
    }
  }

  async #list(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    const seen = this.#streaming && this.#brokenStreams < 2 ? await this.#listByStream(signal) : undefined;
    const list = seen ?? (await this.#listByPages(signal));
    if (signal.aborted) return;
    this.#stats.lists++;
    this.#wantsFresh = false;
    this.#lastFailure = undefined;
    this.#version = list.resourceVersion;
    sink.replace(list.items);
  }

  async #listByPages(signal: AbortSignal): Promise<{ items: T[]; resourceVersion: string }> {
    const late = new AbortController();
    const stopTimer = this.#deps.clock.timer(longestListMs, () => {
      late.abort(
        unreachable(
          `the list of ${this.#resource.resource} did not end within ${longestListMs / 60_000} min`,
        ),
      );
    });
    try {
      return await this.#pages(AbortSignal.any([signal, late.signal]));
    } finally {
      stopTimer();
    }
  }

  async #pages(signal: AbortSignal): Promise<{ items: T[]; resourceVersion: string }> {
    const from = this.#wantsFresh ? '' : this.#version || '0';
    const scope = { ...this.#scope(), limit: this.#options.pageSize ?? 500 };
    try {
      return await listAll<T>(this.#deps.client, this.#resource, {
        options: { ...scope, resourceVersion: from, signal },
        transform: this.#transform,
      });
    } catch (reason) {
      if (!isExpired(reason) && !isAhead(reason)) throw reason;
      return await listAll<T>(this.#deps.client, this.#resource, {
        options: { ...scope, limit: 0, resourceVersion: '', signal },
        transform: this.#transform,
      });
    }
  }

  /** @returns undefined when the server does not support it, which is remembered */
  async #listByStream(signal: AbortSignal): Promise<{ items: T[]; resourceVersion: string } | undefined> {
    const session = this.#session({ initial: true, from: this.#wantsFresh ? '' : this.#version }, signal);
    const items = new Map<string, T>();
    try {
      const end = await session.collect(items);
      this.#stats.watches++;
      this.#brokenStreams = 0;
      return { items: [...items.values()], resourceVersion: end };
    } catch (reason) {
      this.#brokenStreams++;
      if (isAhead(reason) || isExpired(reason)) this.#wantsFresh = true;
      if (!(reason instanceof ApiError) || ![400, 404, 405, 422].includes(reason.status)) throw reason;
      this.#streaming = false;
      this.#logger.debug('server does not support streaming lists; listing by pages', {
        err: messageOf(reason),
      });
      return undefined;
    }
  }

  /** @returns whether the next watch may continue where this one ended */
  async #watch(sink: ReflectorSink<T>, signal: AbortSignal): Promise<boolean> {
    const startedAt = steadyNow(this.#deps.clock);
    const session = this.#session({ initial: false, from: this.#version }, signal);
    this.#stats.watches++;
    const end = await session
      .follow((type, object) => {
        this.#version = object.metadata?.resourceVersion ?? this.#version;
        if (type === 'BOOKMARK') return;
        this.#stats.events++;
        if (type === 'DELETED') sink.deleted(object);
        else sink.seen(object);
      })
      .catch((reason: unknown): WatchEnd => ({ fresh: 0, wentBack: false, failure: reason }));
    return await this.#after(end, startedAt, signal);
  }

  async #after(end: WatchEnd, startedAt: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return true;
    if (isExpired(end.failure)) {
      this.#logger.debug('watch history expired; listing again', { version: this.#version });
      this.#wantsFresh = true;
      return false;
    }
    if (end.wentBack) {
      this.#logger.warn('server went back in time; listing again', { version: this.#version });
      this.#wantsFresh = true;
      this.#version = '';
      return false;
    }
    const brief = steadyNow(this.#deps.clock) - startedAt < 1000;
    if (end.failure !== undefined) await this.#failed(end.failure, signal, end.fresh > 0);
    else if (brief && end.fresh === 0) await this.#failed(new Error('the watch ended at once'), signal);
    else this.#backOff.reset();
    return true;
  }

  #session(
    start: { readonly initial: boolean; readonly from: string },
    signal: AbortSignal,
  ): WatchSession<T> {
    const minMs = this.#options.minWatchMs ?? 300_000;
    const onOpen = (): void => {
      if (!start.initial) this.#lastFailure = undefined;
    };
    return new WatchSession<T>(this.#deps.client, this.#resource, {
      clock: this.#deps.clock,
      scope: this.#scope(),
      initial: start.initial,
      from: start.from,
      idleTimeoutMs: this.#options.idleTimeoutMs ?? 90_000,
      watchMs: minMs * (1 + this.#random.float()),
      transform: this.#transform,
      ...(this.#options.knownObjects && { knownObjects: this.#options.knownObjects }),
      onOpen,
      signal,
    });
  }

  readonly #transform = (object: T, deleted = false): T =>
    (this.#options.transform ?? dropManagedFields)(object, deleted);

  #scope(): Scope {
    const { namespace, labelSelector, fieldSelector, metadataOnly = false } = this.#options;
    return {
      ...(metadataOnly && { metadataOnly }),
      ...(namespace !== undefined && { namespace }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
    };
  }

  /** Waits before the next attempt. The back-off starts small again after a watch that delivered something. */
  async #failed(reason: unknown, signal: AbortSignal, hadProgress = false): Promise<void> {
    this.#stats.failures++;
    this.#lastFailure = reason;
    this.#options.onFailure?.(reason);
    if (hadProgress) this.#backOff.reset();
    const retryAfterMs = reason instanceof ApiError ? (reason.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(retryAfterMs, this.#backOff.next());
    this.#logger.debug('watch failed; resuming from the last version', { err: messageOf(reason), waitMs });
    await this.#deps.clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** Reports whether the server is behind the requested version (504 with cause ResourceVersionTooLarge). */
const isAhead = (reason: unknown): boolean =>
  hasCause(reason, 'ResourceVersionTooLarge') ||
  (reason instanceof ApiError && reason.message.includes('Too large resource version'));
