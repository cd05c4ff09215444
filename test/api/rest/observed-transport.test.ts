import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import type { ObservedRequest } from '../../../src/api/rest/observed-transport.ts';
import { podResource } from '../../../src/api/resources.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';

test('an observer receives requests with their sizes, retries and waits for the rate limit', async () => {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume();
    calls++;
    if (calls === 1) response.writeHead(429, { 'Retry-After': '0' }).end('{}');
    else response.writeHead(200).end('{"kind":"Pod"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const seen: string[] = [];
  const clock = new FakeClock();
  const client = createApiClient(
    { server: `http://127.0.0.1:${port}` },
    {
      clock,
      qps: 1,
      burst: 3,
      observer: {
        ended: ({ method, status, requestBytes, responseBytes }: ObservedRequest) =>
          void seen.push(`${method} ${status}, ${requestBytes ?? 0} bytes, ${responseBytes ?? 0} bytes`),
        throttled: (method, ms) => void seen.push(`${method} waited ${ms}`),
        retried: (method, status) => void seen.push(`${method} again after ${status}`),
      },
    },
  );
  const ref = { namespace: 'default', name: 'web' };
  const patched = client.patch(podResource, ref, { type: 'merge', body: { a: 1 } });
  await expect.poll(() => seen.length).toBe(2);
  await clock.advance(1000); // of the retry
  await patched;
  await client.get(podResource, ref);
  await client.get(podResource, ref);
  const late = client.get(podResource, ref);
  await clock.advance(1000);
  await late;
  expect(seen).toEqual([
    ...['PATCH waited 0', 'PATCH 429, 7 bytes, 2 bytes', 'PATCH again after 429'],
    ...['PATCH waited 0', 'PATCH 200, 7 bytes, 14 bytes'],
    ...['GET waited 0', 'GET 200, 0 bytes, 14 bytes', 'GET waited 0', 'GET 200, 0 bytes, 14 bytes'],
    ...['GET waited 1000', 'GET 200, 0 bytes, 14 bytes'],
  ]);
  seen.length = 0;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await clock.advance(5000);
  await expect(client.get(podResource, ref)).rejects.toThrow();
  expect(seen.filter((line) => !line.includes('waited'))).toEqual([
    ...['GET 0, 0 bytes, 0 bytes', 'GET again after 0', 'GET 0, 0 bytes, 0 bytes'],
  ]);
  await client.close();
});
