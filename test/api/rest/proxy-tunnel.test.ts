import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ApiConnection } from '../../../src/api/rest/connection.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig, throughProxy } from '../../../src/api/kubeconfig/kube-client.ts';
import { tunnelConnector } from '../../../src/api/rest/proxy-tunnel.ts';
import { podResource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { TunnelProxy } from '../../support/tunnel-proxy.ts';

let server: EmbeddedApiServer;
let dir: string;
let proxy: TunnelProxy | undefined;

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  dir = await mkdtemp(join(tmpdir(), 'proxy-'));
});
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

const connection = (proxyUrl: string): ApiConnection => ({
  server: server.url,
  ca: server.ca,
  ...server.admin,
  proxyUrl,
});

/** A list and the beginning of a watch through the connection. */
async function reached(to: ApiConnection): Promise<string | undefined> {
  const client = createApiClient(to, { clock });
  try {
    const { metadata } = await client.list(podResource);
    for await (const { type, object } of client.watch(podResource, {
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: true,
    }))
      return `${type} ${object.metadata?.resourceVersion === metadata?.resourceVersion}`;
    return undefined;
  } finally {
    await client.close();
  }
}

const target = (): string => new URL(server.url).host;

test('by an HTTP proxy', async () => {
  proxy = await TunnelProxy.http({ user: 'me:s@cret' });
  expect(await reached(connection(`http://me:s%40cret@127.0.0.1:${proxy.port}`))).toBe('BOOKMARK true');
  expect(proxy.requests).toEqual(Array.from({ length: 2 }, () => ({ target: target(), user: 'me:s@cret' })));
});

test('by one that speaks TLS, with a certificate of the authority of the API server', async () => {
  proxy = await TunnelProxy.http({ tls: server.servingCertificate('proxy', ['localhost']) });
  expect(await reached(connection(`https://localhost:${proxy.port}`))).toBe('BOOKMARK true');
  expect(proxy.requests).toHaveLength(2);
});

test('by a SOCKS proxy, with and without a password', async () => {
  proxy = await TunnelProxy.socks();
  expect(await reached(connection(`socks5://127.0.0.1:${proxy.port}`))).toBe('BOOKMARK true');
  expect(proxy.requests).toContainEqual({ target: target(), user: undefined });
  await proxy.close();
  proxy = await TunnelProxy.socks({ user: 'me:pw' });
  expect(await reached(connection(`socks5h://me:pw@127.0.0.1:${proxy.port}`))).toBe('BOOKMARK true');
  expect(proxy.requests).toContainEqual({ target: target(), user: 'me:pw' });
});

test('a proxy that refuses, or is not there, is named with its words, and without its password', async () => {
  proxy = await TunnelProxy.http({ user: 'me:right' });
  const { port } = proxy;
  await expect(reached(connection(`http://me:wrong@127.0.0.1:${port}`))).rejects.toMatchObject({
    status: 0,
    message: `GET /api/v1/pods: proxy 127.0.0.1:${port}: CONNECT ${target()}: 407 Proxy Authentication Required`,
  });
  await proxy.close();
  await expect(reached(connection(`http://me:wrong@127.0.0.1:${port}`))).rejects.toMatchObject({
    status: 0,
    message: expect.stringMatching(
      `^GET /api/v1/pods: proxy 127.0.0.1:${port}: connect ECONNREFUSED`,
    ) as string,
  });
  await expect(reached(connection(`socks5://127.0.0.1:${port}`))).rejects.toMatchObject({ status: 0 });
});

test.for([
  [
    'answers little by little',
    (socket: Socket) => {
      const more = setInterval(() => socket.write('X-A: b\r\n'), 20);
      socket.once('close', () => {
        clearInterval(more);
      });
      socket.write('HTTP/1.1 200 OK\r\n');
    },
    /^proxy 127.0.0.1:[0-9]+: no answer within 150 ms$/,
  ],
  ['hangs up', (socket: Socket) => socket.end(), /^proxy 127.0.0.1:[0-9]+: socket hang up$/],
] as const)('a proxy that %s is given up in time', async ([, answer, told]) => {
  const slow = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        answer(socket);
      });
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port: proxyPort } = slow.address() as AddressInfo;
  const connect = tunnelConnector({
    proxy: new URL(`http://127.0.0.1:${proxyPort}`),
    timeout: 150,
    connect: {},
  });
  const fault = await new Promise<Error | null>((resolve) => {
    connect({ hostname: 'h', port: '1', protocol: 'http:' }, (...[reason]) => {
      resolve(reason);
    });
  });
  slow.close();
  expect(fault?.message).toMatch(told);
});

test('a kubeconfig names the proxy, else the environment does', async () => {
  const path = join(dir, 'kubeconfig');
  const text = server.kubeconfig();
  const url = 'socks5://127.0.0.1:1';
  for (const [extra, plain] of [
    ['', true],
    ['    disable-compression: true\n', false],
  ] as const) {
    await writeFile(
      path,
      text.replace(/(\n +)server: /, `${extra && `$1${extra.trim()}`}$1proxy-url: ${url}$1server: `),
    );
    const found = throughProxy(await connectionFromKubeconfig(clock, path), { HTTPS_PROXY: 'other:1' });
    expect([plain, found.proxyUrl, found.server]).toEqual([plain, url, server.url]);
  }
  await writeFile(path, text.replace(/(\n +)server: /, '$1proxy-url: ftp://x$1server: '));
  await expect(connectionFromKubeconfig(clock, path)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching('^proxy-url of the kubeconfig is not a proxy URL') as string,
  });

  const away = { server: 'https://api.example.com:6443' };
  expect(throughProxy(away, { HTTPS_PROXY: 'a:1' })).toEqual({ ...away, proxyUrl: 'http://a:1' });
  expect(throughProxy(away, { HTTPS_PROXY: 'a:1', NO_PROXY: 'example.com' })).toEqual(away);
  expect(throughProxy({ server: server.url }, { HTTPS_PROXY: 'a:1' })).toEqual({ server: server.url });
});
