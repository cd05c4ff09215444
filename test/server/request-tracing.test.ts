import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { podResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeletServer } from '../../src/server/kubelet-server.ts';
import { KubeStub } from '../support/kube-stub.ts';
import { openStream, spdyClient } from '../support/spdy-client.ts';
import { outline, Spans, type SpanTree } from '../support/spans.ts';
import { admin, ask, hostWith, startServer } from './support.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };

let spans: Spans;
let stub: KubeStub;
let client: HttpApiClient;
let server: KubeletServer;

beforeAll(async () => {
  spans = await Spans.record();
  stub = new KubeStub();
  const deps = { clock: systemClock, qps: 0, tracer: spans.tracer };
  client = createApiClient({ server: await stub.listen() }, deps);
});
afterAll(async () => {
  await client.close();
  await stub.close();
  spans.stop();
});
beforeEach(() => {
  stub.intercept = undefined;
  spans.reset();
});
afterEach(() => server.close());

const onlyTrace = (): Promise<SpanTree> =>
  vi.waitFor(() => {
    const [root, ...others] = spans.roots();
    if (!root || others.length > 0) throw new Error(`${spans.roots().length} traces`);
    return root;
  });

test('an exec is one span from the request to its end, and carries the client’s trace on to the API server', async () => {
  const host = hostWith({
    exec: async (_container, _command, { stdout }) => {
      await client.get(podResource, { namespace: 'ns', name: 'x' }).catch(() => undefined);
      stdout?.write('done');
      return 0;
    },
  });
  stub.intercept = (_request, response) => {
    response.writeHead(404).end('{}');
    return true;
  };
  server = await startServer(host, { tracer: spans.tracer });
  const path = '/exec/ns/web/c?command=secret&output=1';
  const connection = await spdyClient({ port: server.port, path, client: admin, headers });
  const [error, stdout] = await Promise.all([
    openStream(connection, 'error'),
    openStream(connection, 'stdout'),
  ]);
  expect(await Promise.all([text(stdout), text(error)])).toEqual([
    'done',
    '{"metadata":{},"status":"Success"}',
  ]);
  const trace = await onlyTrace();
  expect(outline(trace)).toBe('/exec/{podNamespace}/{podID}/{containerName}\n  HTTP GET failed: status 404');
  expect(trace).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' });
  expect(JSON.stringify(trace)).not.toContain('secret');
  expect(stub.requests.at(-1)?.headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
});

test('a streamed response ends its span when it has been sent; a failure is recorded', async () => {
  let early: readonly SpanTree[] | undefined;
  server = await startServer(
    hostWith({
      readLog: async (_log, sink) => {
        await sink(Buffer.from('one line\n'));
        early = spans.roots();
        throw new Error('the disk is gone');
      },
    }),
    { tracer: spans.tracer },
  );
  await ask(server, '/containerLogs/ns/web/c').catch((reason: unknown) => reason);
  expect(early).toEqual([]);
  expect(outline(await onlyTrace())).toBe(
    '/containerLogs/{podNamespace}/{podID}/{containerName} failed: the disk is gone',
  );
});

test('who leaves in the middle ends the span', async () => {
  const held = Promise.withResolvers<never>();
  server = await startServer(hostWith({ exec: () => held.promise }), { tracer: spans.tracer });
  const path = '/exec/ns/web/c?command=x&output=1';
  const connection = await spdyClient({ port: server.port, path, client: admin });
  await Promise.all([openStream(connection, 'error'), openStream(connection, 'stdout')]);
  connection.close();
  expect((await onlyTrace()).failure).toBeUndefined();
});

test.for([
  ['/nothing/of/ours', '/other'],
  ['/metrics/cadvisor', '/metrics/cadvisor'],
  ['/portForward/ns/web', '/portForward/{podNamespace}/{podID}'],
  ['/exec/ns/web/uid-web/c', '/exec/{podNamespace}/{podID}/{uid}/{containerName}'],
])('%s is told as %s', async ([path = '', name]) => {
  server = await startServer(hostWith(), { tracer: spans.tracer });
  await ask(server, path);
  expect((await onlyTrace()).name).toBe(name);
});

test('a watch has a trace of its own, whoever opens it', async () => {
  server = await startServer(
    hostWith({
      readLog: async () => {
        const signal = AbortSignal.timeout(5000);
        for await (const { type } of client.watch(podResource, { signal })) expect(type).toBe('BOOKMARK');
      },
    }),
    { tracer: spans.tracer },
  );
  stub.intercept = (_request, response) => {
    response.end('{"type":"BOOKMARK","object":{}}\n');
    return true;
  };
  await ask(server, '/containerLogs/ns/web/c', { headers });
  await vi.waitFor(() => {
    expect(spans.roots()).toHaveLength(2);
  });
  const watch = spans.roots().find(({ name }) => name === 'HTTP GET');
  expect(watch?.traceId).not.toBe(traceId);
});
