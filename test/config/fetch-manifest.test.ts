import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { fetchManifest } from '../../src/config/http-source.ts';

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

  test('a failure is told by its cause', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(302, { location: '/' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ask = (url: string): Promise<unknown> => fetchManifest(url, { headers: {}, maxBytes: 100 });
    await expect(ask(`http://127.0.0.1:${port}/`)).rejects.toThrow('redirect count exceeded');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(ask('http://[::1]:29/')).rejects.toThrow(/^dial tcp \[::1\]:29: connect: /);
    await expect(ask('http://nowhere.invalid/')).rejects.toThrow(
      'dial tcp: lookup nowhere.invalid: no such host',
    );
    await expect(ask('not a URL')).rejects.toThrow('Invalid URL');
  });
});
