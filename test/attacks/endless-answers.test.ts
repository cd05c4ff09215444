import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listAll } from '../../src/api/cache/list-pager.ts';
import { ApiError } from '../../src/api/client.ts';
import { Reflector } from '../../src/api/cache/reflector.ts';
import { OidcCredentials } from '../../src/api/kubeconfig/oidc.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { podResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { fetchManifest } from '../../src/config/http-source.ts';

const answers = { answerBytes: 100_000, listBytes: 200_000, eventBytes: 50_000 };
const ref = { namespace: 'ns', name: 'a' };

let server: Server;
let url: string;
let client: HttpApiClient;
let answer: (response: ServerResponse, path: string) => void;
/** Bytes that each answer could get rid of. */
let sent: number;
let requests: number;

beforeEach(async () => {
  [sent, requests] = [0, 0];
  server = createServer((request, response) => {
    requests++;
    answer(response, request.url ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = createApiClient({ server: url }, { clock: systemClock, qps: 0, answers });
});
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
});

const chunk = Buffer.alloc(16 * 1024, 'x');

/** Writes as long as somebody takes it. */
function endless(response: ServerResponse, beginning = ''): void {
  response.write(beginning);
  const more = (): void => {
    while (!response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) {
        response.once('drain', more);
        return;
      }
    }
  };
  more();
}

const failure = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => {
      throw new Error('it did not fail');
    },
    (reason: unknown) => reason as ApiError,
  );

const first = <T>(events: AsyncIterable<T>): Promise<unknown> => events[Symbol.asyncIterator]().next();

/** What the kernel and the parser hold on the way, beyond what was taken. */
const onTheWay = 16 * 1024 * 1024;

test.for([
  ['an object', 200, () => client.get(podResource, ref), 'longer than 100000 bytes'],
  ['a list', 200, () => client.list(podResource), 'longer than 200000 bytes'],
  [
    'a review',
    201,
    () => client.raw('/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body: {} }),
    'longer than 100000 bytes',
  ],
  ['a refusal', 403, () => client.get(podResource, ref), 'longer than 100000 bytes'],
  [
    'what nobody reads',
    200,
    () => client.delete(podResource, ref, { discardAnswer: true }),
    'longer than 100000 bytes',
  ],
  ['the refusal of a watch', 403, () => first(client.watch(podResource)), 'longer than 50000 bytes'],
  ['a line of a watch', 200, () => first(client.watch(podResource)), 'longer than 50000 bytes'],
] as const)('%s that does not end is cut', async ([, status, call, why]) => {
  answer = (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    endless(response, '{"kind":"Pod","metadata":{"name":"');
  };
  const reason = await failure(call());
  expect(reason).toBeInstanceOf(ApiError);
  expect(reason.message).toContain(why);
  expect(requests).toBe(1);
  expect(sent).toBeLessThan(onTheWay);
});

test('a refusal of a watch that drips is given up', async () => {
  const clock = new FakeClock(0);
  const other = createApiClient({ server: url }, { clock, qps: 0 });
  const head = new Promise<void>((resolve) => {
    answer = (response) => {
      response.writeHead(403);
      response.write('{', () => {
        resolve();
      });
    };
  });
  const reason = failure(first(other.watch(podResource, { timeoutMs: 5000 })));
  await head;
  await clock.advance(5001);
  expect((await reason).message).toContain('no answer within 5000 ms');
  await other.close();
});

test('a list whose pages never end is cut', async () => {
  const page = { kind: 'PodList', metadata: { continue: 'more', resourceVersion: '1' }, items: [] };
  let pages = 0;
  const lists = {
    list: () => {
      pages++;
      return Promise.resolve(page);
    },
  } as unknown as HttpApiClient;
  const options = { options: {}, transform: <T>(one: T): T => one };
  expect((await failure(listAll(lists, podResource, options))).message).toContain('more than 10000 pages');
  expect(pages).toBeLessThan(10_003);
  const items = Array.from({ length: 50_000 }, (_unused, i) => ({ metadata: { name: `${i}` } }));
  const full = { list: () => Promise.resolve({ ...page, items }) } as unknown as HttpApiClient;
  expect((await failure(listAll(full, podResource, options))).message).toContain('more than 250000 objects');
});

test('a list whose pages come too slowly is begun anew', async () => {
  const clock = new FakeClock(0);
  const page = { kind: 'PodList', metadata: { continue: 'more', resourceVersion: '1' }, items: [] };
  const froms: (string | undefined)[] = [];
  const lists = {
    list: async (
      _resource: unknown,
      options: { readonly continue?: string; readonly signal: AbortSignal },
    ) => {
      froms.push(options.continue);
      await clock.sleep(59_000, options.signal);
      return page;
    },
  } as unknown as HttpApiClient;
  const stop = new AbortController();
  const reflector = new Reflector({ client: lists, clock }, podResource, { streamingList: false });
  const sink = { replace: () => undefined, seen: () => undefined, deleted: () => undefined };
  const run = reflector.run(sink, stop.signal);
  await clock.advance(12 * 60_000);
  expect(reflector.stats.failures).toBe(1);
  expect(froms.filter((from) => from === undefined)).toHaveLength(2);
  stop.abort();
  await clock.advance(1);
  await run;
});

test.for(['999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
  'a server that asks to come back after %s is asked again in minutes',
  async (retryAfter) => {
    const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
    const other = createApiClient({ server: url }, { clock, qps: 0 });
    answer = (response) => {
      response.writeHead(429, { 'retry-after': retryAfter }).end('{"kind":"Status","code":429}');
    };
    const call = other.get(podResource, ref).catch(() => undefined);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Pod"}');
    };
    await clock.advance(6 * 60_000);
    expect(await call).toEqual({ kind: 'Pod' });
    await other.close();
  },
);

test('a manifest that does not end is cut', async () => {
  answer = (response) => {
    endless(response, 'apiVersion: v1\n');
  };
  await fetchManifest(url, { headers: {}, maxBytes: 100_000 }).catch(() => undefined);
  expect(sent).toBeLessThan(onTheWay);
});

test('a provider of tokens that does not end its answer is given up', async () => {
  answer = (response) => {
    endless(response, '{"token_endpoint":"');
  };
  const config = { 'idp-issuer-url': url, 'client-id': 'me', 'refresh-token': 'r' };
  const credentials = new OidcCredentials(config, {
    clock: systemClock,
    ca: undefined,
    keep: async () => undefined,
  });
  await expect(Promise.resolve(credentials.current())).rejects.toThrow('longer than 1048576 bytes');
  expect(sent).toBeLessThan(onTheWay);
});
