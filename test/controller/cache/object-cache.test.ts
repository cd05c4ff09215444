import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { ApiError } from '../../../src/api/client.ts';
import { type Interceptor, intercept } from '../../../src/api/interceptor.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newCache, type OwnedCache } from '../../../src/controller/cache/new-cache.ts';
import { newClient, type OwnedClient } from '../../../src/controller/client/new-client.ts';
import { defineKind, kinds } from '../../../src/controller/kinds.ts';
import type { CacheOptions, Informer, KubeObject } from '../../../src/controller/types.ts';
import { type ConfigMap, configMap, connectionTo, failure, names, pod, startServer } from '../support.ts';

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

const config = (name: string, more: Partial<ConfigMap> = {}) =>
  configMap(name, { ...more, metadata: { namespace: ns, ...more.metadata } });
const create = (name: string, labels: Record<string, string> = {}, namespace = ns) =>
  live.create(kinds.ConfigMap, config(name, { metadata: { namespace, labels }, data: { k: 'v' } }));

function startCache(options: CacheOptions = {}, faults?: Interceptor): OwnedCache {
  const cache = newCache(faults ? intercept(api, faults) : api, options);
  void cache.start(stop.signal);
  return cache;
}

/** Follows an informer's events as text. */
async function follow(informer: Informer<ConfigMap>): Promise<string[]> {
  const log: string[] = [];
  const name = ({ metadata }: KubeObject): string => metadata?.name ?? '';
  const registration = informer.addEventHandler({
    added: (object, initial) => log.push(`+${name(object)}${initial ? '!' : ''}`),
    updated: (before, after) => log.push(`~${name(after)}${before === after ? '=' : ''}`),
    deleted: (last, unknown) => log.push(`-${name(last)}${unknown ? '?' : ''}`),
  });
  await expect.poll(() => registration.hasSynced()).toBe(true);
  return log;
}

describe('reads', () => {
  test('108. before the start are refused', async () => {
    const cache = newCache(api);
    await expect(cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' })).rejects.toThrow(
      'the cache is not started, can not read objects',
    );
  });

  test('109. start an informer on the first one, and list the server once', async () => {
    await create('a');
    const calls: string[] = [];
    const cache = startCache(
      {},
      {
        watch: (call, next) => {
          calls.push(call.resource.resource);
          return next();
        },
      },
    );
    const [one, two] = await Promise.all(
      [1, 2].map(() => cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' })),
    );
    expect(one).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { k: 'v' } });
    expect(two).toEqual(one);
    await cache.list(kinds.ConfigMap);
    // a streamed list and the watch after it
    expect(calls.length).toBeLessThanOrEqual(2);
  });

  test('110. of what is not there: 404 as from the server', async () => {
    const error = await failure(startCache().get(kinds.Deployment, { namespace: ns, name: 'x' }));
    expect([error.status, error.reason, error.message]).toEqual([
      404,
      'NotFound',
      'deployments.apps "x" not found',
    ]);
  });

  test('111. of a kind that is not served, or may not be read: the server says why, at once', async () => {
    const kind = defineKind({ group: 'none.io', version: 'v1', kind: 'None' });
    expect((await failure(startCache().list(kind))).status).toBe(404);
    const forbidden = new ApiError(403, { reason: 'Forbidden', message: 'pods is forbidden' });
    const refuse = (): never => {
      throw forbidden;
    };
    const cache = startCache({}, { call: refuse, watch: refuse });
    expect(await failure(cache.list(kinds.Pod))).toBe(forbidden);
  });

  test('112. whose first list does not come end with their deadline and the reason', async () => {
    const down = new ApiError(0, { message: 'connection refused' });
    const refuse = (): never => {
      throw down;
    };
    const cache = startCache({}, { call: refuse, watch: refuse });
    const error = await failure(cache.list(kinds.Pod, { timeoutMs: 50 }));
    expect([error.status, error.reason]).toEqual([504, 'Timeout']);
    expect(error.message).toContain('has no first list after 50 ms: connection refused');
  });

  test('113. end with their signal', async () => {
    const never = {
      watch: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
    };
    const cache = startCache({}, never);
    const ends = new AbortController();
    const read = cache.list(kinds.Pod, { signal: ends.signal });
    ends.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
  });

  test('114. of a kind without an informer are refused if wanted', async () => {
    const cache = startCache({ readerFailOnMissingInformer: true });
    await expect(cache.list(kinds.ConfigMap)).rejects.toThrow('/v1/ConfigMap is not cached');
    await cache.getInformer(kinds.ConfigMap);
    await cache.list(kinds.ConfigMap);
  });

  test('115. return copies: a caller cannot change the cache', async () => {
    await create('a');
    const cache = startCache();
    const first = await cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' });
    first.data = {};
    if (first.metadata) first.metadata.labels = { broken: '1' };
    const [second] = await cache.list(kinds.ConfigMap, { namespace: ns });
    expect(second).toMatchObject({ data: { k: 'v' } });
    expect(second?.metadata?.labels).not.toEqual({ broken: '1' });
  });

  test('116. of a frozen cache return shared objects that throw when written to', async () => {
    await create('a');
    const cache = startCache({ byKind: [{ kind: kinds.ConfigMap, frozen: true }] });
    const one = await cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' });
    expect(await cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' })).toBe(one);
    expect(() => Object.assign(one.data ?? {}, { k: 'w' })).toThrow(TypeError);
  });

  test('117. list by namespace, labels and limit; no continue', async () => {
    await create('a', { app: 'x' });
    await create('b', { app: 'y' });
    const cache = startCache();
    const by = (options: object) => cache.list(kinds.ConfigMap, { namespace: ns, ...options }).then(names);
    expect(await by({})).toEqual(['a', 'b']);
    expect(await by({ labels: { app: 'x' } })).toEqual(['a']);
    expect(await by({ labels: 'app in (y, z)' })).toEqual(['b']);
    expect(await by({ limit: 1 })).toHaveLength(1);
    expect(await by({ fields: { 'metadata.name': 'b' } })).toEqual(['b']);
    await expect(by({ continue: 'x' })).rejects.toThrow('not supported by the cache');
    expect((await failure(by({ labels: 'a in' }))).status).toBe(400);
  });

  test('118. of metadata only hold metadata only', async () => {
    await create('a', { app: 'x' });
    const cache = startCache();
    const found = await cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' }, { metadataOnly: true });
    expect(found).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels: { app: 'x' } } });
    expect(found.data).toBeUndefined();
    expect((await cache.get(kinds.ConfigMap, { namespace: ns, name: 'a' })).data).toEqual({ k: 'v' });
  });

  test('119. of cluster-scoped kinds', async () => {
    const cache = startCache({ defaultNamespaces: ['default'] });
    expect((await cache.get(kinds.Namespace, { name: ns })).metadata?.name).toBe(ns);
  });
});

describe('selections', () => {
  test('120. by labels and fields of a kind, others by the defaults', async () => {
    await create('a', { app: 'x' });
    await create('b', { app: 'y' });
    const cache = startCache({
      defaultLabelSelector: 'app=y',
      byKind: [{ kind: kinds.ConfigMap, labelSelector: 'app=x' }],
    });
    await live.create(kinds.ServiceAccount, { metadata: { namespace: ns, name: 's', labels: { app: 'y' } } });
    await live.create(kinds.ServiceAccount, { metadata: { namespace: ns, name: 't' } });
    expect(names(await cache.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['a']);
    expect(names(await cache.list(kinds.ServiceAccount, { namespace: ns }))).toEqual(['s']);
    const byField = startCache({ byKind: [{ kind: kinds.ConfigMap, fieldSelector: 'metadata.name=b' }] });
    expect(names(await byField.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['b']);
  });

  test('121. an object that leaves the selection leaves the cache', async () => {
    const created = await create('a', { app: ns });
    const cache = startCache({ defaultLabelSelector: `app=${ns}` });
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    await live.update(kinds.ConfigMap, { ...created, metadata: { ...created.metadata, labels: {} } });
    await expect.poll(() => log).toEqual(['+a!', '-a']);
    await expect.poll(() => cache.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(0);
  });

  test('122. by namespaces: others are not seen, and there is no watch of all', async () => {
    const other = `${ns}-b`;
    await live.create(kinds.Namespace, { metadata: { name: other } });
    await create('a');
    await create('b', {}, other);
    await create('c', {}, 'default');
    const watched: (string | undefined)[] = [];
    const cache = startCache(
      { defaultNamespaces: [ns, other] },
      {
        watch: (call, next) => {
          watched.push(call.namespace);
          return next();
        },
      },
    );
    expect(names(await cache.list(kinds.ConfigMap))).toEqual(['a', 'b']);
    expect(names(await cache.list(kinds.ConfigMap, { namespace: other }))).toEqual(['b']);
    expect(await cache.list(kinds.ConfigMap, { namespace: 'default' })).toHaveLength(0);
    expect((await failure(cache.get(kinds.ConfigMap, { namespace: 'default', name: 'c' }))).status).toBe(404);
    expect(new Set(watched)).toEqual(new Set([ns, other]));
    await live.delete(kinds.ConfigMap, { namespace: 'default', name: 'c' });
  });

  test('123. namespaces with options of their own, and one entry for all others', async () => {
    await create('a', { app: `${ns}-x` });
    await create('b', { app: `${ns}-y` });
    await create('c', { app: `${ns}-y` }, 'default');
    const cache = startCache({
      byKind: [
        {
          kind: kinds.ConfigMap,
          namespaces: { [ns]: { labelSelector: `app=${ns}-x` }, '': { labelSelector: `app=${ns}-y` } },
        },
      ],
    });
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    expect(names(await cache.list(kinds.ConfigMap))).toEqual(['a', 'c']);
    expect(log.sort()).toEqual(['+a!', '+c!']);
    await live.delete(kinds.ConfigMap, { namespace: 'default', name: 'c' });
  });

  test('124. transforms may write to what they receive, and change no other object', async () => {
    await create('a', { app: 'x' });
    await create('b', { app: 'x' });
    const cache = startCache({
      defaultTransform: (object) => {
        if (object.metadata?.name === 'a' && object.metadata.labels) object.metadata.labels['seen'] = '1';
        delete (object as ConfigMap).data;
        return object;
      },
    });
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) => cache.get(kinds.ConfigMap, { namespace: ns, name })),
    );
    expect(a).toMatchObject({ metadata: { labels: { app: 'x', seen: '1' } } });
    expect(b?.metadata?.labels).toEqual({ app: 'x' });
    expect(a?.data).toBeUndefined();
  });

  test('125. managed fields are kept only if that is wanted', async () => {
    await create('a');
    const get = (options: CacheOptions) =>
      startCache(options).get(kinds.ConfigMap, { namespace: ns, name: 'a' });
    expect((await get({})).metadata?.managedFields).toBeUndefined();
    expect((await get({ keepManagedFields: true })).metadata?.managedFields).toHaveLength(1);
  });
});

describe('indexes', () => {
  const byData = (object: ConfigMap): string[] => Object.keys(object.data ?? {});

  test('126. find objects by a field, in one namespace or all', async () => {
    await live.create(kinds.ConfigMap, config('a', { data: { red: '1' } }));
    await live.create(kinds.ConfigMap, config('b', { data: { blue: '1', red: '1' } }));
    const cache = startCache();
    await cache.indexField(kinds.ConfigMap, 'color', byData);
    const by = (fields: Record<string, string>) =>
      cache.list(kinds.ConfigMap, { namespace: ns, fields }).then(names);
    expect(await by({ color: 'red' })).toEqual(['a', 'b']);
    expect(await by({ color: 'blue' })).toEqual(['b']);
    expect(await by({ color: 'green' })).toEqual([]);
    expect(await by({ color: 'red', 'metadata.name': 'a' })).toEqual(['a']);
    expect(names(await cache.list(kinds.ConfigMap, { fields: { color: 'blue' } }))).toEqual(['b']);
    await live.update(kinds.ConfigMap, config('b', { data: {} }));
    await expect.poll(() => by({ color: 'red' })).toEqual(['a']);
  });

  test('127. may be added while the informer runs', async () => {
    await live.create(kinds.ConfigMap, config('a', { data: { red: '1' } }));
    const cache = startCache();
    await cache.list(kinds.ConfigMap);
    await cache.indexField(kinds.ConfigMap, 'color', byData);
    expect(names(await cache.list(kinds.ConfigMap, { namespace: ns, fields: { color: 'red' } }))).toEqual([
      'a',
    ]);
  });

  test('128. that are missing or there twice are refused', async () => {
    const cache = startCache();
    await expect(cache.list(kinds.ConfigMap, { fields: { x: '1' } })).rejects.toThrow(
      'Index with name field:x does not exist',
    );
    await cache.indexField(kinds.ConfigMap, 'x', byData);
    await expect(cache.indexField(kinds.ConfigMap, 'x', byData)).rejects.toThrow('indexer conflict');
  });
});

describe('informers', () => {
  test('129. deliver what exists, then each change', async () => {
    const created = await create('a');
    const cache = startCache({ defaultNamespaces: [ns] });
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    await create('b');
    await live.update(kinds.ConfigMap, { ...created, data: { k: 'w' } });
    await live.delete(kinds.ConfigMap, { namespace: ns, name: 'a' });
    await expect.poll(() => log).toEqual(['+a!', '+b', '~a', '-a']);
  });

  test('130. are one for each kind, for all who ask; metadata has one of its own', async () => {
    const cache = startCache();
    const one = await cache.getInformer(kinds.ConfigMap);
    expect(await cache.getInformer(kinds.ConfigMap)).toBe(one);
    expect(await cache.getInformer(kinds.ConfigMap, { metadataOnly: true })).not.toBe(one);
  });

  test('131. requested before the start run from the start on', async () => {
    await create('a');
    const cache = newCache(api, { defaultNamespaces: [ns] });
    const informer = await cache.getInformer(kinds.ConfigMap);
    expect(informer.hasSynced()).toBe(false);
    const synced = cache.waitForCacheSync(stop.signal);
    void cache.start(stop.signal);
    expect(await synced).toBe(true);
    expect(informer.hasSynced()).toBe(true);
    expect(await follow(informer)).toEqual(['+a!']);
  });

  test('132. that are removed stop, and a new read starts another', async () => {
    await create('a');
    const cache = startCache({ defaultNamespaces: [ns] });
    const informer = await cache.getInformer(kinds.ConfigMap);
    const log = await follow(informer);
    cache.removeInformer(kinds.ConfigMap);
    expect(informer.isStopped).toBe(true);
    await create('b');
    expect(names(await cache.list(kinds.ConfigMap))).toEqual(['a', 'b']);
    expect(log).toEqual(['+a!']);
  });

  test('133. a removed handler receives nothing more', async () => {
    const cache = startCache({ defaultNamespaces: [ns] });
    const informer = await cache.getInformer(kinds.ConfigMap);
    let count = 0;
    const registration = informer.addEventHandler({
      added: () => count++,
      updated: () => undefined,
      deleted: () => undefined,
    });
    const log = await follow(informer);
    registration.remove();
    await create('a');
    await expect.poll(() => log).toEqual(['+a']);
    expect(count).toBe(0);
  });

  test('134. deliver everything again after the sync period', async () => {
    await create('a');
    const clock = new FakeClock(systemClock.now());
    const cache = newCache(api, { defaultNamespaces: [ns], syncPeriod: 3_600_000, clock });
    void cache.start(stop.signal);
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    expect(log).toEqual(['+a!']);
    await clock.advance(3_600_000 * 1.1);
    expect(log).toEqual(['+a!', '~a=']);
    await clock.advance(3_600_000 * 0.6);
    expect(log).toHaveLength(2);
  });

  test('135. waitForCacheSync is false when its signal aborts first', async () => {
    const never = {
      watch: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
    };
    const cache = newCache(intercept(api, never));
    const informer = cache.getInformer(kinds.Pod);
    void cache.start(stop.signal);
    await informer;
    const ends = new AbortController();
    const synced = cache.waitForCacheSync(ends.signal);
    ends.abort();
    expect(await synced).toBe(false);
  });

  test('136. start resolves when all have stopped; a second start is refused', async () => {
    const cache = newCache(api);
    const running = cache.start(stop.signal);
    const informer = await cache.getInformer(kinds.ConfigMap);
    await expect(cache.start(stop.signal)).rejects.toThrow('started already');
    stop.abort();
    await running;
    expect(informer.isStopped).toBe(true);
  });
});

describe('faults', () => {
  test('137. a cut watch goes on: nothing is lost, nothing comes twice', async () => {
    await create('a');
    let events = 0;
    const faults: Interceptor = {
      async *watch(_call, next) {
        for await (const event of next()) {
          yield event;
          if (event.type !== 'BOOKMARK' && ++events % 2 === 0) throw new ApiError(0, { message: 'cut' });
        }
      },
    };
    const cache = startCache({ defaultNamespaces: [ns] }, faults);
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    for (const name of ['b', 'c', 'd', 'e']) await create(name);
    await expect.poll(() => log, { timeout: 10_000 }).toEqual(['+a!', '+b', '+c', '+d', '+e']);
  });

  test('138. lost history (410) is listed again: missed deletions are delivered with the last known object', async () => {
    await create('a');
    await create('b');
    let cut = (): void => undefined;
    let isDown = false;
    const faults: Interceptor = {
      async *watch(_call, next) {
        if (isDown) throw new ApiError(0, { message: 'down' });
        const ended = new Promise<never>((_, reject) => {
          cut = () => {
            reject(new ApiError(0, { message: 'cut' }));
          };
        });
        const events = next()[Symbol.asyncIterator]();
        for (;;) {
          const result = await Promise.race([events.next(), ended]);
          if (result.done === true) return;
          yield result.value;
        }
      },
      call: (_call, next) => (isDown ? Promise.reject(new ApiError(0, { message: 'down' })) : next()),
    };
    const cache = startCache({ defaultNamespaces: [ns] }, faults);
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    isDown = true;
    cut();
    await live.delete(kinds.ConfigMap, { namespace: ns, name: 'a' });
    await create('c');
    server.compact();
    isDown = false;
    await expect.poll(() => log, { timeout: 10_000 }).toEqual(['+a!', '+b!', '-a?', '+c']);
    expect(names(await cache.list(kinds.ConfigMap))).toEqual(['b', 'c']);
  });

  test('139. a server that restarts is followed again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'controller-cache-'));
    const first = await startServer({ dataDir });
    const connection = connectionTo(first);
    const writer = newClient(connection);
    const cache = newCache(connection, { defaultNamespaces: ['default'] });
    void cache.start(stop.signal);
    await writer.create(kinds.ConfigMap, configMap('a'));
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    await first.stop();
    const second = await startServer({ dataDir, port: first.port });
    await writer.create(kinds.ConfigMap, configMap('b'));
    await expect.poll(() => log, { timeout: 15_000 }).toEqual(['+a!', '+b']);
    stop.abort();
    await Promise.all([writer.close(), cache.close()]);
    await second.stop();
    await rm(dataDir, { recursive: true });
  });

  test('140. an object that is made anew under its name is deleted and added', async () => {
    await create('a');
    const cache = startCache({ defaultNamespaces: [ns] });
    const log = await follow(await cache.getInformer(kinds.ConfigMap));
    await live.delete(kinds.ConfigMap, { namespace: ns, name: 'a' });
    await create('a');
    await expect.poll(() => log).toEqual(['+a!', '-a', '+a']);
  });

  test('141. a handler that throws harms no other and not the cache', async () => {
    await create('a');
    const cache = startCache({ defaultNamespaces: [ns] });
    const informer = await cache.getInformer(kinds.ConfigMap);
    informer.addEventHandler({
      added: () => {
        throw new Error('broken');
      },
      updated: () => undefined,
      deleted: () => undefined,
    });
    const log = await follow(informer);
    await create('b');
    await expect.poll(() => log).toEqual(['+a!', '+b']);
  });
});

test('142. pods are served to many readers from one watch', async () => {
  await live.create(kinds.ServiceAccount, { metadata: { namespace: ns, name: 'default' } });
  for (const name of ['a', 'b']) await live.create(kinds.Pod, pod(name, { metadata: { namespace: ns } }));
  const cache = startCache({ byKind: [{ kind: kinds.Pod, namespaces: [ns] }] });
  const lists = await Promise.all(Array.from({ length: 20 }, () => cache.list(kinds.Pod)));
  expect(lists.every((list) => list.length === 2)).toBe(true);
});
