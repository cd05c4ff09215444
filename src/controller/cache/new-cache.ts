import type { ApiClient } from '../../api/client.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';
import { apiClientOf, type ConnectionOptions } from '../client/client.ts';
import type { Cache, CacheOptions } from '../types.ts';
import { ObjectCache } from './object-cache.ts';

/** A cache, and how to close its connections. */
export interface OwnedCache extends Cache {
  /** Closes the connections, unless the API client was passed from outside. */
  close(): Promise<void>;
}

/**
 * Returns a cache of the objects of an API server. It holds nothing before `start`, and afterwards the kinds that are read or watched.
 *
 * @param connection what to connect to, or an API client, which stays its owner's
 *
 * @example
 * const cache = newCache(connection, { byKind: [{ kind: kinds.Pod, labelSelector: 'app=web' }] });
 * void cache.start(signal);
 * const pod = await cache.get(kinds.Pod, { namespace: 'default', name: 'web-0' });
 */
export function newCache(
  connection: ApiConnection | ApiClient,
  options: CacheOptions & ConnectionOptions = {},
): OwnedCache {
  const owned = apiClientOf(connection, options);
  return Object.assign(new ObjectCache({ client: owned.api, ...options }, options), {
    close: () => owned.close(),
  });
}
