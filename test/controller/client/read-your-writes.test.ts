import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { ApiError } from '../../../src/api/client.ts';
import { intercept } from '../../../src/api/interceptor.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newCache } from '../../../src/controller/cache/new-cache.ts';
import type { CacheReads } from '../../../src/controller/client/cached-client.ts';
import { newClient, type OwnedClient } from '../../../src/controller/client/new-client.ts';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { CacheOptions } from '../../../src/controller/types.ts';
import { configMap, connectionTo, failure, names, startServer } from '../support.ts';

let server: EmbeddedApiServer;
let api: HttpApiClient;
let live: OwnedClient;
let stop: AbortController;
let turn = 0;
let ns = '';
beforeAll(async () => {
  server = await startServer();
  api = createApiClient(connectionTo(server), { clock: systemClock, qps: 0 });
  live = newClient(api);
});
afterAll(async () => {
  await api.close();
  await server.stop();
});
beforeEach(async () => {
  stop = new AbortController();
  ns = `ns-${turn++}`;
  await live.create(kinds.Namespace, { metadata: { name: ns } });
});
afterEach(() => {
  stop.abort();
});

/** A client whose cache receives every event `lagMs` late. */
function lagging(
  options: { lagMs?: number; readYourWrites?: boolean | number; cache?: CacheOptions } & Omit<
    CacheReads,
    'reader'
  > = {},
): OwnedClient {
  const { lagMs = 150, readYourWrites = true, cache: cacheOptions, ...reads } = options;
  let isListed = false;
  const slow = intercept(api, {
    async *watch(_call, next) {
      for await (const event of next()) {
        if (isListed) await systemClock.sleep(lagMs, stop.signal).catch(() => undefined);
        if (event.type === 'BOOKMARK') isListed = true;
        yield event;
      }
    },
  });
  const cache = newCache(slow, cacheOptions);
  void cache.start(stop.signal);
  return newClient(api, { cache: { reader: cache, ...reads }, readYourWrites });
}

const config = (name: string, data: Record<string, string> = {}) =>
  configMap(name, { metadata: { namespace: ns }, data });
const at = (name: string) => ({ namespace: ns, name });

describe('a client with a cache', () => {
  test('143. reads from the cache: without readYourWrites, what was there before', async () => {
    const client = lagging({ readYourWrites: false });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
    await expect.poll(() => client.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(1);
  });

  test('144. reads some kinds from the server', async () => {
    const client = lagging({ readYourWrites: false, disableFor: [kinds.ConfigMap] });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    expect((await client.get(kinds.ConfigMap, at('a'))).metadata?.name).toBe('a');
  });

  test('145. holds metadata only of some kinds', async () => {
    await live.create(kinds.ConfigMap, config('a', { k: 'v' }));
    const client = lagging({ metadataOnlyFor: [kinds.ConfigMap], readYourWrites: false });
    const found = await client.get(kinds.ConfigMap, at('a'));
    expect(found.metadata?.name).toBe('a');
    expect(found.data).toBeUndefined();
  });
});

describe('readYourWrites', () => {
  test('146. a read waits for the own create, update, patch and apply', async () => {
    const client = lagging();
    await client.list(kinds.ConfigMap);
    const created = await client.create(kinds.ConfigMap, config('a', { n: '0' }));
    expect((await client.get(kinds.ConfigMap, at('a'))).data).toEqual({ n: '0' });
    await client.update(kinds.ConfigMap, { ...created, data: { n: '1' } });
    expect((await client.get(kinds.ConfigMap, at('a'))).data).toEqual({ n: '1' });
    await client.patch(kinds.ConfigMap, created, rawPatch('merge', { data: { n: '2' } }));
    expect((await client.get(kinds.ConfigMap, at('a'))).data).toEqual({ n: '2' });
    await client.apply(kinds.ConfigMap, config('a', { n: '3' }), { fieldOwner: 'me', force: true });
    expect((await client.get(kinds.ConfigMap, at('a'))).data).toEqual({ n: '3' });
  });

  test('147. a list waits for all own writes of its namespace, and not for others', async () => {
    const client = lagging({ lagMs: 100 });
    await client.list(kinds.ConfigMap);
    await Promise.all(['a', 'b', 'c'].map((name) => client.create(kinds.ConfigMap, config(name))));
    expect(names(await client.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['a', 'b', 'c']);
    await client.create(kinds.ConfigMap, config('d'));
    const startedAt = performance.now();
    await client.list(kinds.ConfigMap, { namespace: 'default' });
    expect(performance.now() - startedAt).toBeLessThan(90);
  });

  test('148. a read waits for the own delete', async () => {
    await live.create(kinds.ConfigMap, config('a'));
    const client = lagging();
    await client.get(kinds.ConfigMap, at('a'));
    await client.delete(kinds.ConfigMap, at('a'));
    expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
  });

  test('149. a read after create and delete never shows the object again', async () => {
    const client = lagging();
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    await client.delete(kinds.ConfigMap, at('a'));
    for (let i = 0; i < 5; i++) {
      expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
      await systemClock.sleep(40);
    }
  });

  test('150. a delete that a finalizer holds shows the deletion timestamp', async () => {
    const client = lagging();
    await client.create(
      kinds.ConfigMap,
      configMap('a', { metadata: { namespace: ns, finalizers: ['a/b'] } }),
    );
    await client.get(kinds.ConfigMap, at('a'));
    await client.delete(kinds.ConfigMap, at('a'));
    expect((await client.get(kinds.ConfigMap, at('a'))).metadata?.deletionTimestamp).toBeDefined();
  });

  test('151. deleteAllOf', async () => {
    const client = lagging();
    for (const name of ['a', 'b']) await client.create(kinds.ConfigMap, config(name));
    expect(await client.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(2);
    await client.deleteAllOf(kinds.ConfigMap, { namespace: ns });
    expect(await client.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(0);
  });

  test('152. a write before the kind has an informer counts too', async () => {
    const client = lagging();
    await client.create(kinds.ConfigMap, config('a'));
    expect((await client.get(kinds.ConfigMap, at('a'))).metadata?.name).toBe('a');
  });

  test('152b. even if the first list is older than the write', async () => {
    const old = await api.list(kinds.ConfigMap);
    const stale = intercept(api, {
      call: (call, next) => (call.verb === 'list' ? Promise.resolve(old) : next()),
      async *watch(_call, next) {
        for await (const event of next()) {
          // no streamed list: the reflector lists by pages then
          if (event.type === 'BOOKMARK') throw new ApiError(400, { reason: 'BadRequest' });
          await systemClock.sleep(50);
          yield event;
        }
      },
    });
    const cache = newCache(stale);
    void cache.start(stop.signal);
    const client = newClient(api, { cache: { reader: cache }, readYourWrites: true });
    await client.create(kinds.ConfigMap, config('a'));
    expect((await client.get(kinds.ConfigMap, at('a'))).metadata?.name).toBe('a');
  });

  test('152c. reads of metadata wait too', async () => {
    const client = lagging({ metadataOnlyFor: [kinds.ConfigMap] });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    expect((await client.get(kinds.ConfigMap, at('a'))).metadata?.name).toBe('a');
  });

  test('153. what the cache does not select is not waited for', async () => {
    const client = lagging({
      cache: { defaultLabelSelector: 'app=x', defaultNamespaces: [ns] },
      readYourWrites: 2000,
    });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    await client.create(kinds.ConfigMap, configMap(`b-${ns}`));
    const startedAt = performance.now();
    expect(await client.list(kinds.ConfigMap)).toHaveLength(0);
    expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  test('154. an own write that leaves the selection is waited for', async () => {
    const labeled = configMap('a', { metadata: { namespace: ns, labels: { app: 'x' } } });
    await live.create(kinds.ConfigMap, labeled);
    const client = lagging({ cache: { defaultLabelSelector: 'app=x', defaultNamespaces: [ns] } });
    await client.get(kinds.ConfigMap, at('a'));
    await client.update(kinds.ConfigMap, config('a'));
    expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
  });

  test('155. a dry run is not waited for', async () => {
    const client = lagging({ readYourWrites: 300 });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'), { dryRun: true });
    expect(await client.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(0);
  });

  test('156. a cache that stays behind: 504 after the deadline, counted', async () => {
    const client = lagging({ lagMs: 60_000, readYourWrites: 100 });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    const error = await failure(client.get(kinds.ConfigMap, at('a')));
    expect([error.status, error.reason]).toEqual([504, 'Timeout']);
    expect(error.message).toContain('the cache of configmaps did not receive the own writes within 100 ms');
    const timeouts = client.families().find(({ name }) => name.endsWith('_timeouts_total'));
    expect(timeouts?.samples).toEqual([{ labels: { kind: 'ConfigMap' }, value: 1 }]);
  });

  test('157. the time of waits is measured, and a wait ends with its signal', async () => {
    const client = lagging({ lagMs: 100 });
    await client.list(kinds.ConfigMap);
    await client.create(kinds.ConfigMap, config('a'));
    const ends = new AbortController();
    const read = client.get(kinds.ConfigMap, at('a'), { signal: ends.signal });
    ends.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
    await client.get(kinds.ConfigMap, at('a'));
    const waits = client.families().find(({ name }) => name.endsWith('_wait_seconds'));
    expect(waits?.samples.find(({ suffix }) => suffix === '_count')?.value).toBe(1);
  });

  test('158. hundreds of writes and reads: every read shows the last own write', async () => {
    const client = lagging({ lagMs: 1 });
    await client.list(kinds.ConfigMap);
    await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        await client.create(kinds.ConfigMap, config(`c${i}`, { n: '0' }));
        for (let n = 1; n <= 20; n++) {
          await client.patch(kinds.ConfigMap, config(`c${i}`), rawPatch('merge', { data: { n: String(n) } }));
          expect((await client.get(kinds.ConfigMap, at(`c${i}`))).data).toEqual({ n: String(n) });
        }
      }),
    );
  });
});
