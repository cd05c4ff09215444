import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import type { KeyPair } from '../../src/pki/certificates.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { outline, type SpanTree, Spans } from '../support/spans.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let dir = '';
let spans: Spans;
let server: EmbeddedApiServer;
let client: HttpApiClient;
let admin: HttpApiClient;
let agent: Agent;
let provider: MemoryProvider;
let running: Promise<void>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pt-tracing-'));
  spans = await Spans.record();
  const { tracer } = spans;
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
  const connect = (as: { cert: string; key: string }, deps = {}): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...as }, { clock, qps: 0, ...deps });
  client = connect(server.clientCertificate('system:node:n', ['system:nodes']), { tracer });
  admin = connect(server.admin);
  provider = new MemoryProvider({ clock });
  agent = await Agent.create({
    nodeName: 'n',
    rootDir: dir,
    client,
    tracer,
    makeProvider: () => provider,
    kubeletApi: { authorization: 'webhook', clientCa: server.ca, port: 0, address: '127.0.0.1' },
  });
  running = agent.run(new AbortController().signal);
  await agent.controller.ready;
});
afterAll(async () => {
  await agent.stop();
  await running;
  await Promise.all([client.close(), admin.close()]);
  await server.stop();
  spans.stop();
  rmSync(dir, { recursive: true });
});
beforeEach(() => {
  spans.reset();
});

const podOf = (name: string): Pod => ({
  metadata: { name, namespace: 'default' },
  spec: {
    nodeName: 'n',
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: 'i' }],
  },
});

/** The first trace that `root` begins for a pod and that is `like` this. */
const traceOf = (
  root: string,
  pod: string,
  like: (trace: SpanTree) => boolean = () => true,
): Promise<SpanTree> =>
  vi.waitFor(
    () => {
      const found = spans
        .roots()
        .find((span) => span.name === root && span.attributes['k8s.pod.name'] === pod && like(span));
      if (!found)
        throw new Error(
          `no such trace:\n${spans
            .roots()
            .map((one) => outline(one))
            .join('\n')}`,
        );
      return found;
    },
    { timeout: 10_000, interval: 20 },
  );

const hasChild = (name: string) => (trace: SpanTree) => trace.children.some((child) => child.name === name);

test('a pod is made in one trace and ended in two', async () => {
  const made = await admin.create<Pod>(podResource, podOf('web'));
  const sync = await traceOf('syncPod', 'web', hasChild('PodProvider/syncPod'));
  expect(sync.parentSpanId).toBeUndefined();
  expect(sync.attributes).toEqual({
    'k8s.pod.uid': made.metadata?.uid,
    'k8s.pod': 'default/web',
    'k8s.pod.name': 'web',
    'k8s.namespace.name': 'default',
    'k8s.pod.update_type': 'create',
  });
  expect(outline(sync)).toMatchInlineSnapshot(`
    "syncPod
      HTTP POST
      PodProvider/syncPod"
  `);
  await admin.delete(podResource, { namespace: 'default', name: 'web' });
  expect(outline(await traceOf('syncTerminatingPod', 'web'))).toMatchInlineSnapshot(`
    "syncTerminatingPod
      PodProvider/killPod"
  `);
  expect(outline(await traceOf('syncTerminatedPod', 'web'))).toMatchInlineSnapshot(`"syncTerminatedPod"`);
});

test('a call that fails says so, up to the step that made it', async () => {
  provider.failNext('syncPod', new Error('no room'));
  await admin.create<Pod>(podResource, podOf('unlucky'));
  const sync = await traceOf('syncPod', 'unlucky', ({ failure }) => failure !== undefined);
  expect(outline({ ...sync, children: sync.children.filter(({ name }) => name === 'PodProvider/syncPod') }))
    .toMatchInlineSnapshot(`
    "syncPod failed: no room
      PodProvider/syncPod failed: no room"
  `);
});

test('a probe is not part of the step that started it', async () => {
  const pod = podOf('probed');
  const container = {
    name: 'c',
    image: 'i',
    livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
  };
  await admin.create<Pod>(podResource, { ...pod, spec: { ...pod.spec, containers: [container] } });
  const probe = await traceOf('PodProvider/execSync', 'probed');
  expect(probe.parentSpanId).toBeUndefined();
});

test('a request to the kubelet API goes on with its client’s trace, down to the provider and the API server', async () => {
  await admin.create<Pod>(podResource, podOf('asked'));
  await traceOf('syncPod', 'asked', hasChild('PodProvider/syncPod'));
  const viewer = server.clientCertificate('someone', ['system:masters']);
  await vi.waitFor(
    async () => {
      expect(await post(await kubeletPort(), '/run/default/asked/c?cmd=true', viewer)).toBe(200);
    },
    { timeout: 10_000, interval: 100 },
  );
  const served = spans.roots().findLast(({ name }) => name.startsWith('/run'));
  expect(served && outline(served)).toBe(
    '/run/{podNamespace}/{podID}/{containerName}\n  HTTP POST\n  PodProvider/execSync',
  );
  expect(served).toMatchObject({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    parentSpanId: 'b7ad6b7169203331',
    attributes: { 'http.request.method': 'POST', 'http.response.status_code': 200 },
  });
});

async function kubeletPort(): Promise<number> {
  const { status } = await admin.get<Node>(nodeResource, { name: 'n' });
  return status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
}

/** @returns the status of the answer */
async function post(port: number, path: string, client: KeyPair): Promise<number> {
  const where = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...client };
  const sent = request({ ...where, method: 'POST', headers: { traceparent } });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
}
