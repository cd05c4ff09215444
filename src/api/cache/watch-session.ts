import { type Clock, steadyNow } from '../../base/clock.ts';
import type { KubeObject } from '../../kube/types.ts';
import { type ApiClient, ApiError, type WatchEvent } from '../client.ts';
import type { KnownObjects } from './known-objects.ts';
import type { Resource } from '../resources.ts';
import { storeKey } from './store.ts';
import { unreachable } from '../rest/transport.ts';
import { compareVersions } from '../versions.ts';

/** What is watched of a kind. */
export interface Scope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
}

/** Options of one watch. */
export interface WatchSessionOptions<T extends KubeObject> {
  readonly clock: Clock;
  readonly scope: Scope;
  /** Requests the complete state first (`sendInitialEvents`). */
  readonly initial: boolean;
  readonly from: string;
  readonly idleTimeoutMs: number;
  /** Timeout requested from the server, ms. */
  readonly watchMs: number;
  readonly transform: (object: T, deleted: boolean) => T;
  readonly knownObjects?: KnownObjects<T>;
  /** Called when the server has accepted the watch, and with each event: not all clients report the former. */
  readonly onOpen?: () => void;
  readonly signal: AbortSignal;
}

/** How a watch ended. */
export interface WatchEnd {
  /** Events and bookmarks that were newer than what had been received. */
  readonly fresh: number;
  /** The server sent versions from before the start of the watch, and nothing newer. */
  readonly wentBack: boolean;
  /** Absent: the server ended it normally. */
  readonly failure?: unknown;
}

type Seen = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

/** Annotation of the bookmark that ends a streamed list. */
const initialEventsEnd = 'k8s.io/initial-events-end';
/** After this many consecutive versions from before the watch's start, the server counts as having gone back. */
const staleBeforeBack = 16;

/**
 * Maximum number of objects of a list: more than a cluster may have (Kubernetes' limit is 150,000 pods). Guards against a list that never
 * ends.
 */
const mostObjects = 250_000;

/** @throws {ApiError} status 0 when there are more objects than any list has */
export function checkCount(count: number, { resource }: Resource): void {
  if (count > mostObjects)
    throw unreachable(`the list of ${resource} has more than ${mostObjects} objects; it was cut`);
}

/** Reports whether the history or the continue token has expired on the server: HTTP 410, `Expired` or `Gone`. */
export function isExpired(reason: unknown): boolean {
  return (
    reason instanceof ApiError &&
    (reason.status === 410 || reason.reason === 'Expired' || reason.reason === 'Gone')
  );
}

/**
 * WatchSession is one watch connection. It detects a dead connection (silent beyond the idle timeout, or open long after the server
 * should have ended it), and drops events that are not newer than the last delivered one.
 */
export class WatchSession<T extends KubeObject> {
  readonly #client: ApiClient;
  readonly #resource: Resource;
  readonly #options: WatchSessionOptions<T>;
  readonly #stop = new AbortController();
  #heardAt: number;

  constructor(client: ApiClient, resource: Resource, options: WatchSessionOptions<T>) {
    this.#client = client;
    this.#resource = resource;
    this.#options = options;
    this.#heardAt = steadyNow(options.clock);
  }

  /** Collects a streamed list by key; resolves to its version. @throws {ApiError} */
  async collect(items: Map<string, T>): Promise<string> {
    let end: string | undefined;
    await this.#guarded(async () => {
      for await (const event of this.#events()) {
        const object = this.#objectOf(event);
        if (event.type === 'BOOKMARK') {
          if (object.metadata?.annotations?.[initialEventsEnd] !== 'true') continue;
          end = object.metadata.resourceVersion ?? '';
          return;
        }
        if (event.type === 'DELETED') items.delete(storeKey(object));
        else items.set(storeKey(object), this.#options.transform(object, false));
        checkCount(items.size, this.#resource);
      }
    });
    if (end === undefined) throw unreachable('the server ended a streamed list before it was whole');
    return end;
  }

  /** Delivers newer events until the watch ends. Never throws: the result has the failure. */
  async follow(pass: (type: Seen, object: T) => void): Promise<WatchEnd> {
    let version = this.#options.from;
    let fresh = 0;
    let stale = 0;
    try {
      await this.#guarded(async () => {
        for await (const event of this.#events()) {
          const object = this.#objectOf(event);
          const bookmark = event.type === 'BOOKMARK';
          if (isStale(object, version, bookmark)) {
            stale++;
            if (fresh === 0 && (bookmark || stale >= staleBeforeBack)) return;
            continue;
          }
          version = object.metadata?.resourceVersion ?? version;
          fresh++;
          const deleted = event.type === 'DELETED';
          pass(event.type as Seen, bookmark ? object : this.#options.transform(object, deleted));
        }
      });
    } catch (failure) {
      return { fresh, wentBack: false, failure };
    }
    return { fresh, wentBack: fresh === 0 && stale > 0 };
  }

  #events(): AsyncIterable<WatchEvent<T>> {
    const { scope, initial, from, watchMs, knownObjects, onOpen } = this.#options;
    return this.#client.watch<T>(this.#resource, {
      ...scope,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.ceil(watchMs / 1000),
      ...(initial && { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' as const }),
      ...(from !== '' && { resourceVersion: from }),
      ...(knownObjects && { knownObjects }),
      ...(onOpen && { onOpen }),
      signal: this.#stop.signal,
      timeoutMs: Math.max(this.#options.idleTimeoutMs, 1),
    });
  }

  /** Runs `work` under the watchdog and the caller's signal. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    const { signal, clock, idleTimeoutMs, watchMs } = this.#options;
    const abort = (): void => {
      this.#stop.abort(signal.reason);
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', abort, { once: true });
    const overdueAt = steadyNow(clock) + watchMs + idleTimeoutMs;
    let stopTimer = (): void => undefined;
    const check = (): void => {
      const now = steadyNow(clock);
      const idleAt = this.#heardAt + idleTimeoutMs;
      if (now >= idleAt || now >= overdueAt) {
        const what = now >= idleAt ? `was silent for ${now - this.#heardAt} ms` : 'did not end in time';
        this.#stop.abort(unreachable(`the watch ${what}; its connection counts as dead`));
      } else stopTimer = clock.timer(Math.min(idleAt, overdueAt) - now, check);
    };
    check();
    try {
      await work();
    } finally {
      stopTimer();
      signal.removeEventListener('abort', abort);
    }
  }

  /** Returns the object of an event and resets the watchdog. Throws an ERROR event as an ApiError. */
  #objectOf(event: WatchEvent<T>): T {
    this.#heardAt = steadyNow(this.#options.clock);
    if (event.type !== 'ERROR') {
      this.#options.onOpen?.();
      return event.object;
    }
    throw new ApiError(event.object.code ?? 500, event.object);
  }
}

/** True for an object that is not newer than `version`; a bookmark may repeat it. */
function isStale(object: KubeObject, version: string, bookmark: boolean): boolean {
  const order = compareVersions(object.metadata?.resourceVersion ?? '', version);
  return order !== undefined && (bookmark ? order < 0 : order <= 0);
}
