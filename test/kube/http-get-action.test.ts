import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type HttpClient, httpGet } from '../../src/go/http/client.ts';
import { resolvePort } from '../../src/kube/container-port.ts';
import { httpGetRequest } from '../../src/kube/http-get-action.ts';

const client: HttpClient = { clock: systemClock, http2: false, extra: [] };
const { signal } = new AbortController();

const requestOf = (path: string, port = 80): ReturnType<typeof httpGetRequest> =>
  httpGetRequest({ httpGet: { port, path }, podIp: '127.0.0.1', ports: undefined });

test.for([
  ['//u:p@h/x', 'http://u:p@127.0.0.1:80/x'],
  ['//u%2F:p:q@h/x', 'http://u%2F:p%3Aq@127.0.0.1:80/x'],
  ['//@h/x', 'http://@127.0.0.1:80/x'],
  ['//u%zz@h/x', 'http://127.0.0.1:80//u%25zz@h/x'],
  ['//[fe80::1%25en0]/x', 'http://127.0.0.1:80/x'],
  ['//[::1]:1/x', 'http://127.0.0.1:80/x'],
  ['//[.::1]/x', 'http://127.0.0.1:80//%5B.::1%5D/x'],
  ['//h:x/x', 'http://127.0.0.1:80//h:x/x'],
] as const)('of the path %j counts what Go takes from it: %s', ([path, url]) => {
  expect(String(requestOf(path).url)).toBe(url);
});

test('user information in a path is sent, and the password is never shown', async () => {
  let headers: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    headers = request.headers;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  (await httpGet(requestOf('//u:p%40@h/x', port), client, signal)).close();
  await new Promise((resolve) => server.close(resolve));
  expect(headers.authorization).toBe(`Basic ${Buffer.from('u:p@').toString('base64')}`);
  await expect(httpGet(requestOf('//u:p@h/x', port), client, signal)).rejects.toThrow(
    `Get "http://u:***@127.0.0.1:${port}/x": `,
  );
});

test('a header may have any name, and a port of no name is the one that has none', () => {
  const httpHeaders = [{ name: '__proto__', value: 'a' }];
  const { headers } = httpGetRequest({ httpGet: { port: 80, httpHeaders }, podIp: '::1', ports: undefined });
  expect(Object.keys(headers)).toEqual(['__proto__', 'User-Agent', 'Accept']);
  expect(resolvePort('', [{ name: 'a', containerPort: 1 }, { containerPort: 2 }])).toBe(2);
});
