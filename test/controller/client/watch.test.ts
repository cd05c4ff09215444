import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { ApiError } from '../../../src/api/client.ts';
import { cutAfter, type Interceptor, intercept } from '../../../src/api/interceptor.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newClient, type OwnedClient } from '../../../src/controller/client/new-client.ts';
import { defineKind, kinds } from '../../../src/controller/kinds.ts';
import type { ListOptions, WatchEvent } from '../../../src/controller/types.ts';
import { type ConfigMap, configMap, connectionTo, failure, startServer } from '../support.ts';

let server: EmbeddedApiServer;
let api: HttpApiClient;
let client: OwnedClient;
let turn = 0;
let ns = '';
beforeAll(async () => {
  server = await startServer();
  api = createApiClient(connectionTo(server), { clock: systemClock, qps: 0 });
  client = newClient(api);
});
afterAll(async () => {
  await api.close();
  await server.stop();
});
beforeEach(async () => {
  ns = `ns-${turn++}`;
  await client.create(kinds.Namespace, { metadata: { name: ns } });
});

const create = (name: string, labels: Record<string, string> = {}) =>
  client.create(kinds.ConfigMap, configMap(name, { metadata: { namespace: ns, labels }, data: { k: 'v' } }));

/** Reads events until there are `count`; `act` runs before the one of that index is read. */
async function events(
  count: number,
  options: ListOptions = {},
  acts: Readonly<Record<number, () => Promise<unknown>>> = {},
  faults?: Interceptor,
): Promise<WatchEvent<ConfigMap>[]> {
  const seen: WatchEvent<ConfigMap>[] = [];
  const watched = faults ? newClient(intercept(api, faults)) : client;
  for await (const event of watched.watch(kinds.ConfigMap, { namespace: ns, ...options })) {
    if (event.type !== 'BOOKMARK') seen.push(event);
    if (seen.length === count) break;
    await acts[seen.length]?.();
  }
  return seen;
}
const texts = (seen: readonly WatchEvent<ConfigMap>[]): string[] =>
  seen.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`);

test('159. a watch delivers what exists, then each change', async () => {
  const created = await create('a');
  const seen = await events(
    4,
    {},
    {
      1: () => create('b'),
      2: () => client.update(kinds.ConfigMap, { ...created, data: {} }),
      3: () => client.delete(kinds.ConfigMap, created),
    },
  );
  expect(texts(seen)).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED a']);
  expect(seen[0]?.object).toEqual(created);
});

test('160. by labels, and of metadata only', async () => {
  await create('a', { app: 'x' });
  await create('b');
  const [first] = await events(1, { labels: { app: 'x' }, metadataOnly: true });
  expect(first?.object.metadata?.name).toBe('a');
  expect(first?.object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  expect(first?.object.data).toBeUndefined();
});

test('161. a cut connection is opened again, without a loss and without an event twice', async () => {
  await create('a');
  const seen = await events(
    3,
    {},
    { 1: () => create('b'), 2: () => create('c') },
    { watch: cutAfter(1, new ApiError(0, { message: 'cut' })) },
  );
  expect(texts(seen)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
});

test('162. from a version on: later events only, across cuts', async () => {
  await create('a');
  const { resourceVersion } = await client.list(kinds.ConfigMap, { namespace: ns });
  await create('b');
  const seen = await events(
    2,
    { resourceVersion },
    { 1: () => create('c') },
    { watch: cutAfter(1, new ApiError(0, { message: 'cut' })) },
  );
  expect(texts(seen)).toEqual(['ADDED b', 'ADDED c']);
});

test('163. from a version that the server has forgotten: 410', async () => {
  const { resourceVersion } = await client.list(kinds.ConfigMap, { namespace: ns });
  await create('a');
  server.compact();
  await create('b');
  expect((await failure(events(1, { resourceVersion }))).status).toBe(410);
});

test('164. of a kind that is not served: 404', async () => {
  const kind = defineKind({ group: 'none.io', version: 'v1', kind: 'None' });
  const watch = client.watch(kind)[Symbol.asyncIterator]();
  expect((await failure(watch.next())).status).toBe(404);
});

test('165. ends with its signal', async () => {
  const stop = new AbortController();
  const names: string[] = [];
  await create('a');
  for await (const { object } of client.watch(kinds.ConfigMap, { namespace: ns, signal: stop.signal })) {
    names.push(object.metadata?.name ?? '');
    stop.abort();
  }
  expect(names).toEqual(['a']);
});
