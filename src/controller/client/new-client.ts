import { systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { ApiClient } from '../../api/client.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { ObjectCache } from '../cache/object-cache.ts';
import type { Client } from '../types.ts';
import { CachedClient, type CacheReads } from './cached-client.ts';
import { apiClientOf, type ConnectionOptions, LiveClient } from './client.ts';
import { ReadYourWrites } from './read-your-writes.ts';
import { newDryRunClient, newNamespacedClient, withFieldOwner, withFieldValidation } from './wrappers.ts';

/** What a client reads from, and defaults of its writes. */
export interface ClientOptions extends ConnectionOptions {
  /** Serves `get` and `list`; absent: the API server does. */
  readonly cache?: CacheReads;
  /** Makes every write a dry run. */
  readonly dryRun?: boolean;
  /** The owner of the fields that are written, unless a call names one. */
  readonly fieldOwner?: string;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** Confines namespaced kinds to a namespace. */
  readonly namespace?: string;
  /**
   * Delays a read from the cache after a write of this client until the cache has what was written, for at most 10 s or this number of ms;
   * then the read is rejected (504).
   */
  readonly readYourWrites?: boolean | number;
}

/** A client, its metrics, and how to close its connections. */
export interface OwnedClient extends Client {
  /** Closes the connections, unless the API client was passed from outside. */
  close(): Promise<void>;
  families(): readonly MetricFamily[];
}

const longestWaitMs = 10_000;

/**
 * Returns a client of an API server.
 *
 * @param connection what to connect to, or an API client, which stays its owner's
 *
 * @example
 * const client = newClient(await loadConnection());
 * const pods = await client.list(kinds.Pod, { namespace: 'default', labels: { app: 'web' } });
 */
export function newClient(connection: ApiConnection | ApiClient, options: ClientOptions = {}): OwnedClient {
  const { clock = systemClock, random, logger, cache } = options;
  const owned = apiClientOf(connection, options);
  const live = new LiveClient(owned.api, { clock, ...(random && { random }), ...(logger && { logger }) });
  const own = cache && ownWrites(options, cache);
  const inner = cache ? new CachedClient(live, cache, own) : live;
  return Object.assign(withDefaults(inner, options), {
    close: () => owned.close(),
    families: () => own?.families() ?? [],
  });
}

function ownWrites(
  { readYourWrites = false, clock = systemClock }: ClientOptions,
  { reader }: CacheReads,
): ReadYourWrites | undefined {
  if (readYourWrites === false) return undefined;
  if (!(reader instanceof ObjectCache))
    throw new AgentError('invalid_argument', 'readYourWrites needs a cache that newCache returned');
  return new ReadYourWrites(reader, clock, readYourWrites === true ? longestWaitMs : readYourWrites);
}

function withDefaults(client: Client, options: ClientOptions): Client {
  const { fieldOwner, fieldValidation, namespace, dryRun } = options;
  let wrapped = client;
  if (fieldOwner !== undefined) wrapped = withFieldOwner(wrapped, fieldOwner);
  if (fieldValidation !== undefined) wrapped = withFieldValidation(wrapped, fieldValidation);
  if (namespace !== undefined) wrapped = newNamespacedClient(wrapped, namespace);
  return dryRun === true ? newDryRunClient(wrapped) : wrapped;
}
