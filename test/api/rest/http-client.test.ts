import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/client.ts';
import type { Credentials } from '../../../src/api/rest/connection.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { cutAfter, intercept } from '../../../src/api/interceptor.ts';
import { RateLimiter } from '../../../src/api/rest/rate-limiter.ts';
import { eventResource, leaseResource, nodeResource, podResource } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { KubeStub, until } from '../../support/kube-stub.ts';

let stub: KubeStub;
let server: string;
let client: HttpApiClient;
const ref = { namespace: 'ns', name: 'a' };

beforeEach(async () => {
  stub = new KubeStub();
  server = await stub.listen();
  client = createApiClient({ server, token: 'secret' }, { clock: systemClock, qps: 0 });
});
afterEach(async () => {
  await client.close();
  await stub.close();
});

const last = (): string => {
  const { method, url, headers, body } = stub.requests.at(-1) ?? stub.requests[0]!;
  return [method, url.pathname + url.search, headers['content-type'] ?? '', body].join(' ').trim();
};
const failure = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => {
      throw new Error('it did not fail');
    },
    (reason: unknown) => reason as ApiError,
  );

test('each verb has its path, its query and its body', async () => {
  const pod = { metadata: { name: 'a', namespace: 'ns', odd: 1 } };
  await client.get(podResource, ref, { resourceVersion: '0' });
  expect(last()).toBe('GET /api/v1/namespaces/ns/pods/a?resourceVersion=0');
  await client.list(nodeResource, { fieldSelector: 'metadata.name=n', limit: 5 });
  expect(last()).toBe('GET /api/v1/nodes?fieldSelector=metadata.name%3Dn&limit=5');
  await client.create(podResource, pod, { dryRun: true, fieldValidation: 'Strict' });
  expect(last()).toBe(
    `POST /api/v1/namespaces/ns/pods?dryRun=All&fieldValidation=Strict application/json ${JSON.stringify(pod)}`,
  );
  await client.create(podResource, pod, { name: 'a', subresource: 'binding' });
  expect(last()).toContain('POST /api/v1/namespaces/ns/pods/a/binding application/json');
  await client.update(leaseResource, pod, { fieldManager: 'me' });
  expect(last()).toContain('PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/a?fieldManager=me');
  await client.patch(podResource, ref, { type: 'strategic', body: { x: 1 } }, { subresource: 'status' });
  expect(last()).toBe(
    'PATCH /api/v1/namespaces/ns/pods/a/status application/strategic-merge-patch+json {"x":1}',
  );
  await client.patch(podResource, ref, { type: 'apply', body: '{"x":1}', force: true });
  expect(last()).toBe(
    'PATCH /api/v1/namespaces/ns/pods/a?fieldManager=podtender&force=true application/apply-patch+yaml {"x":1}',
  );
  await client.delete(podResource, ref, { gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
  expect(last()).toBe(
    'DELETE /api/v1/namespaces/ns/pods/a application/json {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"}}',
  );
  expect(stub.requests[0]?.headers.authorization).toBe('Bearer secret');
});

test('unknown fields come back as they were sent', async () => {
  const pod = { metadata: { name: 'a', namespace: 'ns' }, brandNew: { deep: [1, null] } };
  expect(await client.update(podResource, pod)).toEqual(pod);
});

test('a failure carries status, reason, causes and when to come back', async () => {
  stub.intercept = (_request, response) =>
    stub.json(response, 422, {
      kind: 'Status',
      code: 422,
      reason: 'Invalid',
      message: 'Pod "a" is invalid',
      details: { causes: [{ field: 'spec', reason: 'FieldValueRequired' }] },
    });
  const error = await failure(client.get(podResource, ref));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 422,
    code: 'invalid_argument',
    reason: 'Invalid',
    message: 'Pod "a" is invalid',
    details: { causes: [{ field: 'spec', reason: 'FieldValueRequired' }] },
  });
});

test('a server that asks to come back later is asked again', async () => {
  let calls = 0;
  stub.intercept = (_request, response) =>
    ++calls < 3 ? stub.status(response, 429, 'TooManyRequests', { 'retry-after': '0' }) : false;
  await client.update(podResource, { metadata: { name: 'a', namespace: 'ns' } });
  expect(calls).toBe(3);
});

test('a 500 without Retry-After is reported at once', async () => {
  stub.intercept = (_request, response) => stub.status(response, 500, 'InternalError');
  expect((await failure(client.get(podResource, ref))).status).toBe(500);
  expect(stub.requests).toHaveLength(1);
});

test('a read retries once on a dead socket, a write fails', async () => {
  let cut = 1;
  stub.intercept = (_request, response) => {
    if (cut-- <= 0) return false;
    response.socket?.destroy();
    return true;
  };
  await client.list(podResource);
  cut = 1;
  const error = await failure(client.update(podResource, { metadata: { name: 'a', namespace: 'ns' } }));
  expect([error.status, error.code]).toEqual([0, 'unavailable']);
});

test('an answer that is not whole JSON is no answer', async () => {
  stub.intercept = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Po');
    return true;
  };
  expect((await failure(client.get(podResource, ref))).code).toBe('unavailable');
});

test('a call ends at its deadline and when it is aborted, and its socket is released', async () => {
  stub.intercept = () => true;
  expect((await failure(client.get(podResource, ref, { timeoutMs: 20 }))).code).toBe('deadline_exceeded');
  const stop = new AbortController();
  const call = failure(client.get(podResource, ref, { signal: stop.signal }));
  stop.abort(new Error('enough'));
  expect((await call).message).toBe('enough');
  await until(() => stub.sockets.size === 0);
});

test('calls share a few kept-alive connections', async () => {
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 10 }, () => client.get(podResource, ref).catch(() => undefined)));
  }
  expect(stub.requests).toHaveLength(200);
  expect(stub.connections).toBeLessThanOrEqual(16);
});

test('a call that timed out while it waited for a connection leaves the connection open', async () => {
  const alone = createApiClient({ server }, { clock: systemClock, qps: 0, connections: 1 });
  const answer = Promise.withResolvers<undefined>();
  stub.intercept = (_request, response) => {
    void answer.promise.then(() => {
      stub.json(response, 200, {});
    });
    return true;
  };
  const first = alone.get(podResource, ref);
  await until(() => stub.requests.length === 1);
  const waiting = [20, 20, 20].map((timeoutMs) => failure(alone.get(podResource, ref, { timeoutMs })));
  expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual(Array(3).fill('deadline_exceeded'));
  answer.resolve(undefined);
  await first;
  await alone.get(podResource, ref);
  expect([stub.connections, stub.requests.length]).toEqual([1, 2]);
  await alone.close();
});

test('watches do not take the connections of calls', async () => {
  const stop = new AbortController();
  const watches = Array.from({ length: 40 }, async () => {
    for await (const event of client.watch(podResource, { resourceVersion: '1', signal: stop.signal }))
      expect(event).toBeUndefined();
  });
  await until(() => stub.watchers === 40);
  await client.list(podResource);
  stop.abort();
  await Promise.allSettled(watches);
  await until(() => stub.watchers === 0);
});

test('a slow reader of a watch holds back the server, and little waits in memory', async () => {
  const event = `${JSON.stringify({ type: 'ADDED', object: { kind: 'Pod', spec: 'x'.repeat(4000) } })}\n`;
  let sent = 0;
  stub.intercept = (_request, response) => {
    const write = (): void => {
      for (let room = true; room && !response.destroyed; sent += event.length) room = response.write(event);
      response.once('drain', write);
    };
    write();
    return true;
  };
  let read = 0;
  let most = 0;
  for await (const { type } of client.watch(podResource)) {
    expect(type).toBe('ADDED');
    read += event.length;
    // what is under way on a loopback socket is some 10 MB
    most = Math.max(most, sent - read);
    if (most > 64e6 || read > 12e6) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(most).toBeLessThan(64e6);
});

test('a refused credential is asked anew once', async () => {
  let token = 'old';
  const own = createApiClient(
    {
      server,
      credentials: {
        current: () => ({ headers: { authorization: token } }),
        invalidate: () => {
          token = 'new';
        },
      },
    },
    { clock: systemClock, qps: 0 },
  );
  stub.intercept = ({ headers }, response) =>
    headers.authorization === 'new' ? false : stub.status(response, 401, 'Unauthorized');
  await own.list(podResource);
  await own.close();
});

test('leases go before pods, pods before events, when calls must wait', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock, 10, 1);
  expect(limiter.acquire(1)).toBeUndefined();
  const order: number[] = [];
  for (const priority of [2, 1, 0, 1] as const)
    void limiter.acquire(priority)?.then(() => order.push(priority));
  await clock.advance(100);
  expect(order).toEqual([0]);
  await clock.advance(300);
  expect(order).toEqual([0, 1, 1, 2]);
});

test('a waiting call can be aborted and leaves its place', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock, 1, 1);
  const stop = new AbortController();
  void limiter.acquire(1);
  const waiting = limiter.acquire(1, stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(limiter.waiting).toBe(0);
});

test('the interceptor sees each call, may answer it and may cut a watch half-way', async () => {
  const seen: string[] = [];
  const faulty = intercept(client, {
    call: async ({ verb, resource, name = '', subresource = '' }, next) => {
      seen.push([verb, resource.resource, name, subresource].join(' ').trim());
      if (resource === eventResource) throw new ApiError(500, { message: 'no events today' });
      return await next();
    },
    watch: cutAfter(1, new Error('cut')),
  });
  await faulty.patch(podResource, ref, { type: 'merge', body: {} }, { subresource: 'status' });
  await expect(faulty.create(eventResource, { metadata: { name: 'e' } })).rejects.toThrow('no events today');
  stub.put('a', '1');
  stub.put('b', '2');
  const types: string[] = [];
  const watch = async (): Promise<void> => {
    for await (const { type } of faulty.watch(podResource, { resourceVersion: '1' })) types.push(type);
  };
  await expect(watch()).rejects.toThrow('cut');
  expect([seen, types]).toEqual([['patch pods a status', 'create events e'], ['ADDED']]);
});

test('a renewed client certificate has every connection made anew; watches break off, calls in flight do not', async () => {
  let credentials: Credentials = { headers: {}, cert: 'first', key: 'k' };
  const source = { current: () => credentials, invalidate: () => undefined };
  const other = createApiClient({ server, credentials: source }, { clock: systemClock, qps: 0 });
  const watching = (async () => {
    const seen = [];
    for await (const event of other.watch(podResource)) seen.push(event);
  })();
  const broken = expect(watching).rejects.toThrow('the certificates were renewed');
  await until(() => stub.watchers === 1);
  await other.list(podResource);
  const before = [...stub.sockets];
  const held = Promise.withResolvers<undefined>();
  stub.intercept = async () => {
    await held.promise;
    return false;
  };
  const inFlight = other.list(podResource);
  await until(() => stub.requests.length === 3);
  credentials = { headers: {}, cert: 'second', key: 'k' };
  const after = other.list(podResource);
  await until(() => stub.requests.length === 4);
  held.resolve(undefined);
  await Promise.all([inFlight, after, broken]);
  await until(() => stub.sockets.size === 1);
  expect(before.every((socket) => socket.destroyed)).toBe(true);
  await other.close();
});

test('a discarded response is not parsed', async () => {
  stub.intercept = (_request, response) => {
    response.end('this is no JSON');
    return true;
  };
  await expect(client.delete(podResource, { name: 'a' }, { discardAnswer: true })).resolves.toEqual({});
  await expect(client.delete(podResource, { name: 'a' })).rejects.toMatchObject({ code: 'unavailable' });
});
