import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { fetchManifest, fetchManifestThrough } from '../../src/config/http-source.ts';

describe('fetching', () => {
  test('sends the headers, gives status and text, and refuses more than the limit', async () => {
    const server = createServer((request, response) => {
      response.writeHead(201, 'Made');
      response.end(`${String(request.headers['x-a'])} text`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    try {
      const headers = { 'X-A': ['1', '2'] };
      expect(await fetchManifest(url, { headers, maxBytes: 100 })).toEqual({
        status: 201,
        statusText: 'Made',
        body: '1, 2 text',
      });
      await expect(fetchManifest(url, { headers, maxBytes: 3 })).rejects.toThrow('the read limit is reached');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('a server that changes the protocol unasked is a failure, and at once', async () => {
    const server = createTcpServer((socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      ),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await expect(fetchManifest(url, { headers: {}, maxBytes: 100 })).rejects.toThrow(
      'the server changed to another protocol',
    );
    server.close();
  });

  test('a failure is reported with its cause', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(302, { location: '/' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ask = (url: string): Promise<unknown> => fetchManifest(url, { headers: {}, maxBytes: 100 });
    await expect(ask(`http://127.0.0.1:${port}/`)).rejects.toThrow('stopped after 10 redirects');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(ask('http://[::1]:29/')).rejects.toThrow(/^dial tcp \[::1\]:29: connect: /);
    await expect(ask('http://nowhere.invalid/')).rejects.toThrow(
      'dial tcp: lookup nowhere.invalid: no such host',
    );
    await expect(ask('not a URL')).rejects.toThrow('Invalid URL');
  });

  test('name and password of the URL are sent, and not to whom a redirect leads elsewhere', async () => {
    const seen: string[] = [];
    const other = createServer(({ url, headers: { authorization, 'x-a': a } }, response) => {
      seen.push(`other ${url} ${authorization} ${String(a)}`);
      response.end('there');
    });
    const server = createServer(({ url, headers: { authorization } }, response) => {
      seen.push(`server ${url} ${authorization}`);
      const location = url === '/' ? 'here' : `http://127.0.0.1:${portOf(other)}/there`;
      response.writeHead(302, { location }).end();
    });
    await Promise.all([listen(other), listen(server)]);
    const headers = { 'X-A': ['1'], Cookie: ['c'] };
    const answer = await fetchManifest(`http://me:s%40cret@127.0.0.1:${portOf(server)}/`, {
      headers,
      maxBytes: 100,
    });
    expect(answer.body).toBe('there');
    const basic = `Basic ${Buffer.from('me:s@cret').toString('base64')}`;
    expect(seen).toEqual([`server / ${basic}`, `server /here ${basic}`, 'other /there undefined 1']);
    server.close();
    other.close();
  });

  test('a proxy of the environment is gone through', async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url, request.headers['proxy-authorization']);
      response.end('by proxy');
    });
    await listen(proxy);
    const fetchThrough = fetchManifestThrough({
      HTTP_PROXY: `http://me:pw@127.0.0.1:${portOf(proxy)}`,
      NO_PROXY: 'elsewhere.invalid',
    });
    const url = 'http://manifests.invalid/pod.yaml?x=1';
    expect((await fetchThrough(url, { headers: {}, maxBytes: 100 })).body).toBe('by proxy');
    expect(asked).toEqual([url, `Basic ${Buffer.from('me:pw').toString('base64')}`]);
    const direct = fetchThrough('http://elsewhere.invalid/', { headers: {}, maxBytes: 100 });
    await expect(direct).rejects.toThrow('lookup elsewhere.invalid: no such host');
    proxy.close();
  });
});

const listen = (server: Server): Promise<void> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
