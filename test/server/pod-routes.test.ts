import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { alwaysAllow } from '../../src/server/access.ts';
import { attachPodRoutes, instrumentHandler, podMetricsHandler } from '../../src/server/pod-routes.ts';
import { Authority, createKey } from '../../src/pki/certificates.ts';
import { selfSigned } from '../../src/pki/self-signed.ts';
import { ask, clientPair, hostWith, startServer } from './support.ts';

test('a provider author mounts the routes on a server of their own', async () => {
  const server = createServer();
  const readLog = async (_log: unknown, sink: (bytes: Buffer) => unknown): Promise<void> => {
    await sink(Buffer.from('hello\n'));
  };
  attachPodRoutes(server, { host: hostWith({ readLog }), authorizer: alwaysAllow, anonymousAuth: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/containerLogs/ns/web/c`);
  expect([answer.status, await answer.text()]).toEqual([200, 'hello\n']);
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
  server.closeAllConnections();
  server.close();
});

test('a handler can be instrumented', async () => {
  const seen: string[] = [];
  const handle = instrumentHandler(
    podMetricsHandler({ host: hostWith(), authorizer: alwaysAllow, anonymousAuth: true }),
    async (request, next) => {
      seen.push(request.target);
      return next();
    },
  );
  const { signal } = new AbortController();
  const reply = await handle({ method: 'GET', target: '/metrics', headers: {}, signal });
  expect([reply.status, seen]).toEqual([200, ['/metrics']]);
});

test('a renewed serving certificate is shown to those who come next', async () => {
  expect(createKey()).toContain('PRIVATE KEY');
  const server = await startServer(hostWith());
  server.renew(selfSigned('another', Date.now()));
  expect((await ask(server, '/healthz')).status).toBe(200);
  await server.close();
});

test('those who come next are believed by the new client authorities alone, also with a renewed serving certificate', async () => {
  const server = await startServer(hostWith());
  const other = Authority.create('other', Date.now());
  const asked = async (pair: object): Promise<number> => (await ask(server, '/pods', pair)).status;
  const [old, next] = [clientPair('a'), clientPair('b', [], other)];
  expect([await asked(old), await asked(next)]).toEqual([200, 401]);
  server.trust(other.cert);
  expect([await asked(old), await asked(next)]).toEqual([401, 200]);
  server.renew(selfSigned('another', Date.now()));
  expect([await asked(old), await asked(next)]).toEqual([401, 200]);
  await server.close();
});
