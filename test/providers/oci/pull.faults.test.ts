import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PullOptions, PullProgress } from '../../../src/providers/oci/image-service.ts';
import { pullInto, type PullDeps } from '../../../src/providers/oci/pull.ts';
import { endpointsIn } from '../../../src/providers/oci/registry-hosts.ts';
import { RegistryTransport } from '../../../src/providers/oci/registry-transport.ts';
import { ImageStore, type StoredImage } from '../../../src/providers/oci/store.ts';
import { busyboxImage } from '../../support/images.ts';
import { type Registry, type RegistryOptions, startRegistry } from '../../support/registry.ts';
import { TunnelProxy } from '../../support/tunnel-proxy.ts';

const image = busyboxImage('x/box:1');
const [layer = '', layerBytes = 0] =
  [...image.blobs]
    .map(([digest, { length }]) => [digest, length] as const)
    .find(([, size]) => size > 100_000) ?? [];

let dir: string;
let store: ImageStore;
let registry: Registry;
let transport: RegistryTransport;
const slept: number[] = [];
/** Sleeps at once. */
const clock = {
  now: () => 0,
  sleep: async (ms: number, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    slept.push(ms);
  },
};

beforeEach(async () => {
  slept.length = 0;
  dir = mkdtempSync(join(tmpdir(), 'podtender-pull-'));
  store = new ImageStore({ dir: join(dir, 'images'), clock, asRoot: false });
  transport = new RegistryTransport({ responseMs: 2000, idleMs: 2000 });
  registry = await startRegistry([image]);
});
afterEach(async () => {
  await transport.close();
  await registry.close();
  rmSync(dir, { recursive: true, force: true });
});

async function serve(options: RegistryOptions): Promise<void> {
  await registry.close();
  registry = await startRegistry([image], options);
}
const makePull = (deps: Partial<PullDeps> = {}): ReturnType<typeof pullInto> =>
  pullInto(store, { arch: process.arch, clock, transport, ...deps });
const pull = (options: PullOptions = {}, deps: Partial<PullDeps> = {}): Promise<StoredImage> =>
  makePull(deps)(`${registry.host}/box:1`, options);
const blobRequests = (): readonly string[] => registry.requests.filter((line) => line.includes(layer));

describe('a registry that fails', () => {
  test('with 429 is asked again when it wants to be', async () => {
    registry.faults.push({ path: '/manifests/', status: 429, retryAfter: 7, times: 2 });
    expect((await pull()).id).toBe(image.configDigest);
    expect(slept).toEqual([7000, 7000]);
  });

  test('with 429 for longer than a pull waits has its own text', async () => {
    registry.faults.push({ path: '/manifests/', status: 429, retryAfter: 3600 });
    await expect(pull()).rejects.toThrow(`${registry.host}/box:1: manifests/1: 429 UNKNOWN: unknown`);
    expect(slept).toEqual([]);
  });

  test('with 503 and a date receives the next request at that date, by its own clock', async () => {
    const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();
    registry.faults.push({ path: '/manifests/', status: 503, retryAfter: inSeconds(20), times: 1 });
    expect((await pull()).id).toBe(image.configDigest);
    expect(slept).toHaveLength(1);
    expect(slept[0]).toBeGreaterThanOrEqual(19_000);
    expect(slept[0]).toBeLessThanOrEqual(20_000);
    registry.faults.push(
      { path: '/manifests/', status: 503, retryAfter: inSeconds(-20), times: 1 },
      { path: '/manifests/', status: 503, retryAfter: 'soon', times: 1 },
    );
    await pull();
    expect(slept.slice(1)).toEqual([200, 400]);
  });

  test('with 5xx is asked four times, with growing pauses', async () => {
    registry.faults.push({ path: '/manifests/', status: 503 });
    await expect(pull()).rejects.toMatchObject({ code: 'unavailable' });
    expect(slept).toEqual([200, 400, 800]);
    expect(registry.requests).toHaveLength(4);
  });

  test('with 4xx is asked once', async () => {
    registry.faults.push({ path: '/manifests/', status: 400 });
    await expect(pull()).rejects.toMatchObject({ code: 'failed_precondition' });
    expect(registry.requests).toHaveLength(1);
  });

  test('by a broken connection goes on where it broke', async () => {
    registry.faults.push({ path: layer, cutAfter: 900_000, times: 2 });
    expect((await pull()).id).toBe(image.configDigest);
    const starts = registry.ranges.map((range) => Number(/\d+/.exec(range)?.[0]));
    expect(starts).toHaveLength(2); // what was not read yet when the connection broke is asked for again
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  test('by a broken connection, and without ranges, begins again', async () => {
    await serve({ ignoresRanges: true });
    registry.faults.push({ path: layer, cutAfter: 900_000, times: 1 });
    expect((await pull()).id).toBe(image.configDigest);
    expect(blobRequests()).toHaveLength(2);
  });

  test('by silence is given up', async () => {
    await transport.close();
    transport = new RegistryTransport({ responseMs: 100, idleMs: 100 });
    registry.faults.push({ path: '/manifests/', delayMs: 3000 });
    await expect(pull()).rejects.toThrow(`http://${registry.host}: Headers Timeout Error`);
  });

  test('that is not there says so', async () => {
    await registry.close();
    await expect(pull()).rejects.toThrow(`http://${registry.host}: connect ECONNREFUSED`);
  });
});

describe('content', () => {
  test('with another digest is never in the store, and pulled anew later', async () => {
    registry.faults.push({ path: layer, content: Buffer.alloc(layerBytes, 'x'), times: 1 });
    await expect(pull()).rejects.toThrow(`digest mismatch: expected ${layer}`);
    expect(store.hasBlob(layer)).toBe(false);
    expect(store.list()).toEqual([]);
    expect((await pull()).id).toBe(image.configDigest);
  });

  test('that is longer than its size is refused before it is read to its end', async () => {
    registry.faults.push({ path: layer, content: Buffer.alloc(layerBytes + 1_000_000, 'x') });
    await expect(pull()).rejects.toThrow(`blob ${layer} has more than its ${layerBytes} bytes`);
  });

  test('of an image beyond the limit is not asked for', async () => {
    const limits = { maxBytes: 1000, maxEntries: 10 };
    store = new ImageStore({ dir: join(dir, 'small'), clock, asRoot: false, limits });
    await expect(pull()).rejects.toMatchObject({
      code: 'resource_exhausted',
      message: expect.stringMatching(/box:1 has \d{6,} bytes, an image has at most 1000$/) as unknown,
    });
    expect(registry.requests.filter((line) => line.includes('/blobs/'))).toEqual([]);
  });

  test('of a manifest by digest must have it', async () => {
    registry.faults.push({ path: '/manifests/', content: Buffer.from('{}') });
    const name = `${registry.host}/box@${image.manifestDigest}`;
    await expect(makePull()(name, {})).rejects.toThrow(`digest mismatch: expected ${image.manifestDigest}`);
  });

  test('that an aborted pull has left is continued', async () => {
    const stop = new AbortController();
    registry.faults.push({ path: layer, cutAfter: 900_000 });
    const onProgress = (progress: PullProgress): void => {
      if (progress.type === 'blob' && progress.digest === layer) stop.abort(new Error('enough'));
    };
    await expect(pull({ signal: stop.signal, onProgress })).rejects.toThrow('enough');
    registry.faults.length = 0;
    expect((await pull()).id).toBe(image.configDigest);
    expect(registry.ranges.at(-1)).toMatch(/^bytes=\d+-$/);
    expect(readdirSync(join(store.dir, 'partial'))).toEqual([]);
  });

  test('that another registry has begun wrongly is fetched anew', async () => {
    writeFileSync(store.partialPath(layer), Buffer.alloc(1000, 'x'));
    expect((await pull()).id).toBe(image.configDigest);
    expect(registry.ranges).toEqual(['bytes=1000-']);
  });

  test('is fetched once by pulls at the same time, and by the second when the first is given up', async () => {
    const own = makePull();
    const name = `${registry.host}/box:1`;
    await Promise.all([own(name, {}), own(name, {}), own(name, {})]);
    expect(blobRequests()).toHaveLength(1);
    await store.remove(image.configDigest, () => new Set());
    registry.faults.push({ path: layer, delayMs: 200, times: 1 });
    const stop = new AbortController();
    const first = own(name, { signal: stop.signal });
    const second = own(name, {
      onProgress: ({ type }) =>
        type === 'resolved' &&
        setImmediate(() => {
          stop.abort(new Error('given up'));
        }),
    });
    await expect(first).rejects.toThrow('given up');
    expect((await second).id).toBe(image.configDigest);
  });

  test('is reported as it comes', async () => {
    const seen: PullProgress[] = [];
    await pull({ onProgress: (progress) => seen.push(progress) });
    expect(seen[0]).toMatchObject({ type: 'resolved', digest: image.manifestDigest });
    // blobs come side by side: the last report may be of another one
    const last = seen.findLast((progress) => progress.type === 'blob' && progress.digest === layer);
    expect(last).toMatchObject({
      bytes: layerBytes,
      size: layerBytes,
    });
    expect(seen.at(-1)).toEqual({ type: 'unpack', layer: 1, layers: 1 });
  });
});

describe('credentials', () => {
  const auth = { username: 'me', password: 'secret' };

  test('get a token, which is shared by simultaneous requests and replaced when it expires', async () => {
    await serve({ tokensFor: 'me:secret' });
    registry.faults.push({ path: layer, cutAfter: 900_000, times: 1 });
    let parts = 0;
    const onProgress = (progress: PullProgress): void => {
      if (
        progress.type === 'blob' &&
        progress.digest === layer &&
        progress.bytes < layerBytes &&
        ++parts === 1
      )
        registry.expireTokens();
    };
    expect((await pull({ auth, onProgress })).id).toBe(image.configDigest);
    expect(registry.requests.filter((line) => line.includes('/token'))).toHaveLength(2);
    expect(registry.credentials.filter((line) => line.startsWith('Basic'))).toHaveLength(2);
  });

  test('as an identity token get a token by POST', async () => {
    await serve({ tokensFor: 'me:refresh' });
    expect((await pull({ auth: { identityToken: 'refresh' } })).id).toBe(image.configDigest);
    expect(registry.requests.find((line) => line.includes('/token'))).toBe('POST /token');
  });

  test('are needed for no token where anybody gets one', async () => {
    await serve({ tokensFor: '' });
    expect((await pull()).id).toBe(image.configDigest);
  });

  test('are given up when a token server sends without an end', async () => {
    await serve({ tokensFor: '' });
    let sent = 0;
    const endless = createServer((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) sent += 65_536;
      };
      response.writeHead(200).on('drain', more);
      more();
    });
    await new Promise<void>((resolve) => void endless.listen(0, '127.0.0.1', resolve));
    const { port } = endless.address() as AddressInfo;
    try {
      registry.faults.push({ path: '/token', redirect: `http://127.0.0.1:${port}/token` });
      await expect(pull()).rejects.toMatchObject({
        code: 'invalid_argument',
        message: `the answer of ${registry.host}/box:1: the token server ${registry.host} has more than 1048576 bytes`,
      });
      expect(sent).toBeLessThan(64 * 2 ** 20);
    } finally {
      endless.closeAllConnections();
      endless.close();
    }
  });

  test('that are wrong have another error than missing ones', async () => {
    await serve({ basicAuth: 'me:other' });
    await expect(pull()).rejects.toThrow('the registry wants credentials, there are none');
    await expect(pull({ auth })).rejects.toThrow('the registry refuses the credentials');
    await serve({ tokensFor: 'me:other' });
    await expect(pull({ auth })).rejects.toThrow(`the token server ${registry.host}: 401 UNAUTHORIZED`);
  });

  test('are not sent to where a redirect leads', async () => {
    await serve({ basicAuth: 'me:secret' });
    const other = await startRegistry([image]);
    try {
      registry.faults.push({ path: layer, redirect: `http://127.0.0.1:${other.port}/v2/box/blobs/${layer}` });
      expect((await pull({ auth })).id).toBe(image.configDigest);
      expect(other.requests).toHaveLength(1);
      expect(other.credentials).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('mirrors', () => {
  let mirror: Registry;
  beforeEach(async () => {
    mirror = await startRegistry([image]);
  });
  afterEach(() => mirror.close());

  const hosts = (text: string): Partial<PullDeps> => {
    const folder = join(dir, 'hosts', registry.host.replace(':', '_') + '_');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'hosts.toml'), text);
    return { endpoints: endpointsIn(join(dir, 'hosts')) };
  };

  test('are asked first, with their headers and without the credentials of the registry', async () => {
    const deps = hosts(
      `[host."http://127.0.0.1:${mirror.port}"]\n[host."http://127.0.0.1:${mirror.port}".header]\nx-own = "1"`,
    );
    await pull({ auth: { username: 'me', password: 'secret' } }, deps);
    expect(registry.requests).toEqual([]);
    expect(mirror.requests[0]).toBe(`GET /v2/box/manifests/1?ns=${encodeURIComponent(registry.host)}`);
    expect(mirror.credentials).toEqual([]);
  });

  test('that fail are followed by the registry, whose error names them', async () => {
    mirror.faults.push({ path: '/v2/', status: 500 });
    const deps = hosts(`[host."http://127.0.0.1:${mirror.port}"]`);
    expect((await pull({}, deps)).id).toBe(image.configDigest);
    await store.remove(image.configDigest, () => new Set());
    registry.faults.push({ path: '/manifests/', status: 404 });
    await expect(pull({}, deps)).rejects.toThrow(
      `${registry.host}/box:1: manifests/1: 404 UNKNOWN: unknown; mirror 127.0.0.1:${mirror.port}: manifests/1: 500 UNKNOWN: unknown`,
    );
  });

  test('that may only give content by digest are not asked for tags', async () => {
    const deps = hosts(`[host."http://127.0.0.1:${mirror.port}"]\ncapabilities = ["pull"]`);
    await pull({}, deps);
    expect(registry.requests).toEqual(['GET /v2/box/manifests/1']);
    expect(mirror.requests.every((line) => line.includes('/blobs/'))).toBe(true);
  });
});

describe('a proxy of the environment', () => {
  const asked: string[] = [];
  let proxy: Server;
  let proxied: RegistryTransport;
  beforeEach(async () => {
    asked.length = 0;
    proxy = createServer((incoming, outgoing) => {
      asked.push(incoming.url ?? '');
      const { pathname, search } = new URL(incoming.url ?? '');
      const target = { host: '127.0.0.1', port: registry.port, path: pathname + search };
      get({ ...target, headers: incoming.headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 0, response.headers);
        response.pipe(outgoing);
      });
    });
    proxy.on('connect', ({ url = '' }, socket) => {
      asked.push(url);
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    proxied = new RegistryTransport({ proxies: { HTTP_PROXY: url, HTTPS_PROXY: url } });
  });
  afterEach(async () => {
    await proxied.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  test('is used for registries that are not on this machine', async () => {
    const folder = join(dir, 'hosts', 'registry.test');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'hosts.toml'), 'server = "http://registry.test:5000"');
    const own = makePull({ transport: proxied, endpoints: endpointsIn(join(dir, 'hosts')) });
    expect((await own('registry.test/box:1', {})).tags).toEqual(['registry.test/box:1']);
    expect(asked[0]).toBe('http://registry.test:5000/v2/box/manifests/1');
    asked.length = 0;
    await makePull({ transport: proxied })(`${registry.host}/box:1`, {});
    expect(asked).toEqual([]);
  });

  test.each(['socks5', 'socks5h'])(
    'may speak %s, with a user, and finds the registry by its name',
    async (scheme) => {
      const socks = await TunnelProxy.socks({
        user: 'me:secret',
        addresses: { 'registry.test': '127.0.0.1' },
      });
      const folder = join(dir, 'hosts', 'registry.test');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'hosts.toml'), `server = "http://registry.test:${registry.port}"`);
      const through = (user: string): RegistryTransport =>
        new RegistryTransport({ proxies: { HTTP_PROXY: `${scheme}://${user}@127.0.0.1:${socks.port}` } });
      const [good, bad] = [through('me:secret'), through('me:wrong')];
      const endpoints = endpointsIn(join(dir, 'hosts'));
      try {
        await expect(makePull({ transport: bad, endpoints })('registry.test/box:1', {})).rejects.toThrow(
          `http://registry.test:${registry.port}: `,
        );
        const { tags } = await makePull({ transport: good, endpoints })('registry.test/box:1', {});
        expect(tags).toEqual(['registry.test/box:1']);
        expect(socks.requests.at(-1)).toEqual({
          target: `registry.test:${registry.port}`,
          user: 'me:secret',
        });
        expect(registry.requests[0]).toBe('GET /v2/box/manifests/1');
      } finally {
        await Promise.all([good.close(), bad.close()]);
        await socks.close();
      }
    },
  );

  test('that refuses is named', async () => {
    const own = makePull({ transport: proxied })('registry.test/box:1', {});
    await expect(own).rejects.toThrow('https://registry.test: Proxy response (407)');
    expect(asked[0]).toBe('registry.test:443');
  });
});

test('blobs in the store have the right content', async () => {
  await pull();
  for (const [digest, content] of image.blobs)
    expect(readFileSync(store.blobPath(digest)).equals(content), digest).toBe(true);
});
