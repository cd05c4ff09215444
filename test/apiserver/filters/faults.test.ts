import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Fault, FakeClock, startApiServer, type TestApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

let server: TestApiServer;
beforeEach(async () => {
  server = await startApiServer();
});
afterEach(async () => {
  await server.stop();
});

const path = '/api/v1/namespaces/default/configmaps';
const map = (name: string): object => ({ metadata: { name } });
const create = (name: string): Promise<{ readonly status: number }> => call(server, 'POST', path, map(name));

test('an error strikes the requests that it matches, as often as it says', async () => {
  const fault = server.faults.add({
    match: { verbs: ['create'], groups: [''], resources: ['configmaps'], namespaces: ['default'] },
    skip: 1,
    times: 2,
    error: { status: 429, retryAfterSeconds: 3, message: 'later' },
  });
  expect((await create('a')).status).toBe(201);
  const { status, headers, body } = await call(server, 'POST', path, map('b'));
  expect(status).toBe(429);
  expect(headers['retry-after']).toBe('3');
  expect(body).toMatchObject({ reason: 'TooManyRequests', message: 'later' });
  expect((await call(server, 'GET', path)).status).toBe(200);
  expect((await call(server, 'POST', '/api/v1/namespaces/kube-system/configmaps', map('b'))).status).toBe(
    201,
  );
  expect((await create('b')).status).toBe(429);
  expect((await create('b')).status).toBe(201);
  expect(fault.hits).toBe(2);
});

test.each<[string, Fault['match'], boolean]>([
  ['a user', { users: ['podtender-admin'] }, true],
  ['another user', { users: ['jane'] }, false],
  ['the object itself', { subresources: [''], names: [''] }, true],
  ['a subresource', { subresources: ['status'] }, false],
])('a fault of %s', async (_, match, strikes) => {
  server.faults.add({ ...(match && { match }), error: { status: 503 } });
  expect((await create('x')).status).toBe(strikes ? 503 : 201);
  server.faults.clear();
  expect((await create('y')).status).toBe(201);
});

test('a connection ends before the request takes effect, or after it', async () => {
  const fault = server.faults.add({ match: { verbs: ['create'] }, disconnect: 'before' });
  await expect(create('before')).rejects.toThrow();
  fault.remove();
  server.faults.add({ match: { verbs: ['create'] }, disconnect: 'after' });
  await expect(create('after')).rejects.toThrow();
  expect((await call(server, 'GET', `${path}/before`)).status).toBe(404);
  expect((await call(server, 'GET', `${path}/after`)).status).toBe(200);
});

test('a delay is measured by the server’s clock', async () => {
  const clock = new FakeClock();
  const other = await startApiServer({ clock });
  const fault = other.faults.add({ match: { verbs: ['list'] }, delayMs: 60_000 });
  let done = false;
  const listed = call(other, 'GET', path).then(() => (done = true));
  while (fault.hits === 0) await new Promise(setImmediate);
  expect(done).toBe(false);
  await clock.advance(60_000);
  await listed;
  await other.stop();
});

test('a chance of none strikes never', async () => {
  const fault = server.faults.add({ probability: 0, error: { status: 500 } });
  expect((await create('x')).status).toBe(201);
  expect(fault.hits).toBe(0);
});
