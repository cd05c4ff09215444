import { afterEach, expect, test } from 'vitest';
import { startApiServer, type TestApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

const servers: TestApiServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});
async function start(): Promise<TestApiServer> {
  const server = await startApiServer();
  servers.push(server);
  return server;
}

const path = '/api/v1/namespaces/default/configmaps';

test('servers know nothing of each other', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, start));
  const [first, ...others] = all;
  if (!first) throw new Error('none');
  expect((await call(first, 'POST', path, { metadata: { name: 'mine' } })).status).toBe(201);
  for (const other of others) expect((await call(other, 'GET', `${path}/mine`)).status).toBe(404);
  // a certificate of one is a stranger's at the others
  const { cert, key } = first.clientCertificate('x', ['system:masters']);
  const [other] = others;
  expect(
    other &&
      (await call(Object.create(other, { admin: { value: { cert, key } } }) as TestApiServer, 'GET', path))
        .status,
  ).toBe(403);
});

test('every request is recorded until it is forgotten', async () => {
  const server = await start();
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  await call(server, 'DELETE', `${path}/b`);
  expect(
    server.audit.map(({ verb, objectRef, responseStatus }) => [verb, objectRef?.name, responseStatus?.code]),
  ).toEqual([
    ['create', 'a', 201],
    ['delete', 'b', 404],
  ]);
  server.forget();
  expect(server.audit).toEqual([]);
});

test('a snapshot comes back within 5 ms, custom resources included', async () => {
  const server = await start();
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const definition = (plural: string): object => ({
    metadata: { name: `${plural}.example.com` },
    spec: {
      ...{ group: 'example.com', scope: 'Cluster', names: { plural, kind: plural.toUpperCase() } },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  });
  await call(server, 'POST', definitions, definition('rooms'));
  const room = (name: string): object => ({
    apiVersion: 'example.com/v1',
    kind: 'ROOMS',
    metadata: { name },
  });
  await call(server, 'POST', '/apis/example.com/v1/rooms', room('a'));
  for (let i = 0; i < 200; i++) await call(server, 'POST', path, { metadata: { name: `m${i}` } });
  const snapshot = server.snapshot();
  await call(server, 'DELETE', `${definitions}/rooms.example.com`);
  await call(server, 'POST', definitions, definition('doors'));
  for (let i = 0; i < 20; i++) await call(server, 'DELETE', `${path}/m${i}`);
  await call(server, 'POST', path, { metadata: { name: 'new' } });
  expect((await call(server, 'GET', '/apis/example.com/v1/rooms')).status).toBe(404);
  const begun = performance.now();
  server.restore(snapshot);
  const took = performance.now() - begun;
  expect((await call(server, 'GET', '/apis/example.com/v1/rooms/a')).status).toBe(200);
  expect((await call(server, 'GET', '/apis/example.com/v1/doors')).status).toBe(404);
  expect((await call(server, 'GET', `${path}/m3`)).status).toBe(200);
  expect((await call(server, 'GET', `${path}/new`)).status).toBe(404);
  const times = Array.from({ length: 9 }, () => {
    const from = performance.now();
    server.restore(server.snapshot());
    return performance.now() - from;
  });
  expect(Math.min(took, ...times)).toBeLessThan(5);
});
