import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer, type EmbeddedApiServerOptions } from '../../../src/apiserver/index.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { call, pod, podsPath } from '../support.ts';

const group = '/apis/metrics.k8s.io/v1beta1';
const token = 'reader-token-of-this-test';

/** A clock on which nobody waits: who sleeps moves it on. */
class HastyClock extends FakeClock {
  override sleep(ms: number): Promise<void> {
    this.set(this.now() + ms);
    return Promise.resolve();
  }
}

const clock = new HastyClock(Date.parse('2026-01-01T00:00:00Z'));
let server: EmbeddedApiServer;
let kubelet: Server;
let running = ['p'];

/** Containers of the running pods have used a tenth of a core, the node a quarter, since the clock began. */
function page(): string {
  const spent = (clock.now() - Date.parse('2025-12-31T00:00:00Z')) / 1000;
  const of = (name: string): string => `{container="c",namespace="default",pod="${name}"}`;
  const node = `node_cpu_usage_seconds_total ${spent / 4}\nnode_memory_working_set_bytes 2e+09\n`;
  const lines = running.map(
    (name) =>
      `container_cpu_usage_seconds_total${of(name)} ${spent / 10} ${clock.now()}\ncontainer_memory_working_set_bytes${of(name)} 5120 ${clock.now()}\n`,
  );
  return node + lines.join('');
}

async function start(options: EmbeddedApiServerOptions): Promise<void> {
  server = await EmbeddedApiServer.start({
    clock,
    controllers: false,
    minimalScheduler: false,
    tokens: [{ token, user: { name: 'reader', groups: [] } }],
    ...options,
  });
}

const kubeletAsked: string[] = [];

beforeEach(async () => {
  kubeletAsked.length = 0;
  running = ['p'];
  await start({ metricsApi: true });
  const { cert, key } = server.servingCertificate('system:node:n1', ['127.0.0.1']);
  kubelet = createServer({ cert, key, ca: server.ca, requestCert: true }, (incoming, response) => {
    kubeletAsked.push(incoming.url ?? '');
    response.end(page());
  });
  await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
  const { port: Port } = kubelet.address() as AddressInfo;
  await call(server, 'POST', '/api/v1/nodes', {
    metadata: { name: 'n1', labels: { zone: 'a' } },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    },
  });
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  for (const name of ['p', 'q', 'waits']) {
    await call(server, 'POST', podsPath, {
      ...pod(name, { nodeName: 'n1' }),
      metadata: { name, labels: { app: name } },
    });
    const status = { phase: name === 'waits' ? 'Pending' : 'Running' };
    await call(server, 'PATCH', `${podsPath}/${name}/status`, { status }, 'application/merge-patch+json');
  }
});

afterEach(async () => {
  await server.stop();
  kubelet.close();
  kubelet.closeAllConnections();
});

const get = async (path: string): Promise<{ status: number; body: Record<string, unknown> }> => {
  const { status, body } = await call(server, 'GET', path);
  return { status, body: body };
};
const names = async (path: string): Promise<unknown[]> =>
  ((await get(path)).body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

/** The answer to a request with other headers; JSON is parsed. */
const asking = (
  path: string,
  headers: Record<string, string>,
  cert = true,
): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const { port, ca, admin } = server;
    const own = cert ? admin : {};
    request({ host: '127.0.0.1', port, ca, ...own, path, headers, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () => {
        const isJson = text.startsWith('{');
        resolve({ status: answer.statusCode ?? 0, body: isJson ? (JSON.parse(text) as unknown) : text });
      });
    })
      .on('error', reject)
      .end();
  });

const resources = [
  { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
  { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
];
const aggregated = { Accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };

test('discovery lists the group last', async () => {
  const version = { groupVersion: 'metrics.k8s.io/v1beta1', version: 'v1beta1' };
  const body = { name: 'metrics.k8s.io', versions: [version], preferredVersion: version };
  expect(((await get('/apis')).body['groups'] as unknown[]).at(-1)).toEqual(body);
  expect((await get('/apis/metrics.k8s.io')).body).toMatchObject(body);
  expect((await get(group)).body).toEqual({
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: version.groupVersion,
    resources,
  });
  const all = (await asking('/apis', aggregated)).body as { items: unknown[] };
  expect(all.items.at(-1)).toMatchObject({
    metadata: { name: 'metrics.k8s.io' },
    versions: [{ version: 'v1beta1', resources: [{ resource: 'nodes' }, { resource: 'pods' }] }],
  });
  expect(kubeletAsked, 'nobody has asked for numbers').toEqual([]);
});

test('a server without the option does not serve it', async () => {
  await server.stop();
  await start({});
  const all = await asking('/apis', aggregated);
  expect(JSON.stringify([all.body, (await get('/apis')).body])).not.toContain('metrics.k8s.io');
  expect(await asking(`${group}/nodes`, {})).toEqual({ status: 404, body: '404 page not found\n' });
});

test('a node and a pod tell what they use', async () => {
  expect(await get(`${group}/nodes/n1`)).toEqual({
    status: 200,
    body: {
      kind: 'NodeMetrics',
      apiVersion: 'metrics.k8s.io/v1beta1',
      metadata: { name: 'n1', labels: { zone: 'a' }, creationTimestamp: expect.any(String) as string },
      timestamp: new Date(clock.now()).toISOString().replace('.000Z', 'Z'),
      window: '1s',
      usage: { cpu: '250m', memory: '1953125Ki' },
    },
  });
  expect((await get(`${group}/namespaces/default/pods/p`)).body).toMatchObject({
    kind: 'PodMetrics',
    metadata: { name: 'p', namespace: 'default', labels: { app: 'p' } },
    window: '1s',
    containers: [{ name: 'c', usage: { cpu: '100m', memory: '5Ki' } }],
  });
  expect(kubeletAsked).toEqual(['/metrics/resource', '/metrics/resource']);
});

test('lists are of running pods that were measured, by namespace and selectors', async () => {
  running = ['p', 'q', 'waits'];
  expect((await get(`${group}/pods`)).body).toMatchObject({
    kind: 'PodMetricsList',
    apiVersion: 'metrics.k8s.io/v1beta1',
    metadata: {},
    items: [{ metadata: { name: 'p' } }, { metadata: { name: 'q' } }],
  });
  expect(await names(`${group}/namespaces/default/pods?labelSelector=app%3Dq`)).toEqual(['q']);
  expect(await names(`${group}/pods?fieldSelector=metadata.name%3Dp`)).toEqual(['p']);
  expect(await names(`${group}/namespaces/kube-system/pods`)).toEqual([]);
  expect(await names(`${group}/nodes?labelSelector=zone%3Db`)).toEqual([]);
  expect(await names(`${group}/nodes?labelSelector=zone%3Da`)).toEqual(['n1']);
  expect(await get(`${group}/pods?fieldSelector=spec.nodeName%3Dn1`)).toMatchObject({
    status: 400,
    body: {
      message: '"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"',
    },
  });
});

test.for([
  ['namespaces/default/pods/q', 'podmetrics.metrics.k8s.io "default/q" not found'],
  ['namespaces/default/pods/waits', 'podmetrics.metrics.k8s.io "default/waits" not found'],
  ['namespaces/default/pods/none', 'pods "none" not found'],
  ['nodes/none', 'nodes "none" not found'],
  ['pods/p', 'the server could not find the requested resource'],
  ['namespaces/default/nodes', 'the server could not find the requested resource'],
  ['namespaces/default/pods/p/log', 'the server could not find the requested resource'],
  ['services', 'the server could not find the requested resource'],
])('%s is not there', async ([path, message]) => {
  expect(await get(`${group}/${path}`)).toMatchObject({ status: 404, body: { message } });
});

test('a pod that comes between two readings is there once it has been measured twice', async () => {
  expect(await names(`${group}/pods`)).toEqual(['p']);
  running = ['p', 'q'];
  expect(await names(`${group}/pods`), 'the numbers are good for 15 seconds').toEqual(['p']);
  clock.set(clock.now() + 15_000);
  expect(await names(`${group}/pods`)).toEqual(['p', 'q']);
});

test('a kubelet that is gone takes its numbers along', async () => {
  kubelet.close();
  kubelet.closeAllConnections();
  expect(await names(`${group}/nodes`)).toEqual([]);
  expect(await get(`${group}/nodes/n1`)).toMatchObject({
    status: 404,
    body: { message: 'nodemetrics.metrics.k8s.io "n1" not found' },
  });
});

test('tables have the columns of metrics-server', async () => {
  const accept = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const table = (await asking(`${group}/namespaces/default/pods`, accept)).body as {
    columnDefinitions: { name: string }[];
    rows: unknown[];
  };
  expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'cpu', 'memory', 'Window']);
  expect(table.rows).toMatchObject([
    { cells: ['p', '100m', '5Ki', '1s'], object: { kind: 'PartialObjectMetadata', metadata: { name: 'p' } } },
  ]);
  expect((await asking(`${group}/nodes/n1`, accept)).body).toMatchObject({
    kind: 'Table',
    rows: [{ cells: ['n1', '250m', '1953125Ki', '1s'] }],
  });
  expect((await asking(`${group}/namespaces/kube-system/pods`, accept)).body).toMatchObject({
    columnDefinitions: null,
    rows: [],
  });
  const metadata = { Accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
  expect((await asking(`${group}/nodes`, metadata)).body).toMatchObject({
    kind: 'PartialObjectMetadataList',
    items: [{ metadata: { name: 'n1' } }],
  });
});

test('only reads are allowed, to authorized users', async () => {
  expect(await call(server, 'DELETE', `${group}/nodes/n1`)).toMatchObject({ status: 405 });
  expect(await call(server, 'POST', `${group}/namespaces/default/pods`, {})).toMatchObject({ status: 405 });
  expect(await get(`${group}/pods?watch=true`)).toMatchObject({ status: 405 });
  const list = (): Promise<{ status: number; body: unknown }> =>
    asking(`${group}/nodes`, { Authorization: `Bearer ${token}` }, false);
  expect(await list()).toMatchObject({
    status: 403,
    body: {
      message:
        'nodes.metrics.k8s.io is forbidden: User "reader" cannot list resource "nodes" in API group "metrics.k8s.io" at the cluster scope',
    },
  });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'top';
  const rules = [{ apiGroups: ['metrics.k8s.io'], resources: ['nodes'], verbs: ['list'] }];
  await call(server, 'POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
  await call(server, 'POST', `${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
  });
  expect(await list()).toMatchObject({ status: 200, body: { items: [{ metadata: { name: 'n1' } }] } });
});
