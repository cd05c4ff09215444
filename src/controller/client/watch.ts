import { type Clock, steadyNow } from '../../base/clock.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { FullJitter, reflectorBackOff } from '../../base/backoff.ts';
import { isAborted } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { type ApiClient, ApiError, type WatchEvent as ServerEvent } from '../../api/client.ts';
import { Informer } from '../../api/cache/informer.ts';
import { isExpired } from '../../api/cache/watch-session.ts';
import type { Kind, KubeObject, WatchEvent } from '../types.ts';

/** Dependencies of a watch. */
export interface WatchDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** What is watched, and from where. */
export interface WatchSelection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
  /** Starts after this version instead of with the objects that exist. */
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal;
}

/**
 * Watches a kind continuously. Without a version, the objects that exist come first, and after lost history the differences; with one,
 * events after it, and lost history (410) ends the watch with an error.
 */
export function watchObjects<T extends KubeObject>(
  deps: WatchDeps,
  kind: Kind<T>,
  selection: WatchSelection,
): AsyncIterable<WatchEvent<T>> {
  return selection.resourceVersion === undefined
    ? whole(deps, kind, selection)
    : following(deps, kind, selection, selection.resourceVersion);
}

async function* whole<T extends KubeObject>(
  deps: WatchDeps,
  kind: Kind<T>,
  { signal, ...scope }: WatchSelection,
): AsyncGenerator<WatchEvent<T>> {
  const stop = new AbortController();
  const events = new EventQueue<T>(AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]));
  const keep = (object: T): T => object;
  const refused = (reason: unknown): void => {
    if (isRefusal(reason)) events.fail(reason);
  };
  const informer = new Informer<T>(deps, kind, { ...scope, transform: keep, onFailure: refused });
  informer.addHandler({
    added: (object) => {
      events.push({ type: 'ADDED', object });
    },
    updated: (_old, object) => {
      events.push({ type: 'MODIFIED', object });
    },
    deleted: (object) => {
      events.push({ type: 'DELETED', object });
    },
  });
  void informer.run(events.signal);
  try {
    yield* events.all();
  } finally {
    stop.abort();
  }
}

/** Reports whether trying again does not help: the kind is not served, the caller may not watch it, or the selector is wrong. */
const isRefusal = (reason: unknown): boolean =>
  reason instanceof ApiError && [400, 401, 403, 404, 405, 422].includes(reason.status);

async function* following<T extends KubeObject>(
  deps: WatchDeps,
  kind: Kind<T>,
  selection: WatchSelection,
  from: string,
): AsyncGenerator<WatchEvent<T>> {
  const { signal = new AbortController().signal, resourceVersion: _from, ...scope } = selection;
  const { clock, client, random = systemRandom, logger = silentLogger } = deps;
  const backOff = new FullJitter(clock, random, reflectorBackOff);
  let version = from;
  while (!isAborted(signal)) {
    const startedAt = steadyNow(clock);
    let fresh = 0;
    try {
      const request = { ...scope, resourceVersion: version, allowWatchBookmarks: true, signal };
      for await (const event of client.watch<T>(kind, request)) {
        yield passed(event);
        version = event.object.metadata?.resourceVersion ?? version;
        fresh++;
      }
    } catch (reason) {
      if (isAborted(signal)) return;
      rethrowIfFinal(reason);
      logger.debug('watch failed; it is opened again', { err: messageOf(reason), version });
    }
    const brief = fresh === 0 && steadyNow(clock) - startedAt < 1000;
    if (brief) await clock.sleep(backOff.next(), signal).catch(() => undefined);
    else backOff.reset();
  }
}

function rethrowIfFinal(reason: unknown): void {
  if (isExpired(reason) || isRefusal(reason)) throw reason;
}

/** @throws {ApiError} an ERROR event */
function passed<T extends KubeObject>(event: ServerEvent<T>): WatchEvent<T> {
  if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, event.object);
  return { type: event.type, object: event.object };
}

/** Events between the informer that receives them and the loop that reads them. */
class EventQueue<T extends KubeObject> {
  readonly signal: AbortSignal;
  readonly #events: WatchEvent<T>[] = [];
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  push(event: WatchEvent<T>): void {
    this.#events.push(event);
    this.#wake?.();
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake?.();
  }

  async *all(): AsyncGenerator<WatchEvent<T>> {
    for (;;) {
      const events = this.#events.splice(0);
      yield* events;
      if (events.length > 0) continue;
      if (this.signal.aborted) return;
      if (this.#failure) throw this.#failure.reason;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
