import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ResourceClient } from '../../src/api/resource-client.ts';
import { leaseResource, nodeResource, podResource } from '../../src/api/resources.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import type { Lease, Node, Pod } from '../../src/kube/types.ts';
import { createLoad } from '../../src/simulate/load.ts';
import { nodeNames } from '../../src/simulate/node-names.ts';
import { Simulation } from '../../src/simulate/simulation.ts';

const names = nodeNames('node', 5);
const stop = new AbortController();
let server: EmbeddedApiServer;
let client: HttpApiClient;
let simulation: Simulation;
let running: Promise<void>;
let pods: ResourceClient<Pod>;
let nodes: ResourceClient<Node>;

const until = (what: () => unknown): Promise<void> =>
  vi.waitFor(
    async () => {
      expect(await what()).toBeTruthy();
    },
    { timeout: 25_000, interval: 20 },
  );

const podOf = (name: string, spec: Partial<Pod['spec']>, metadata: object = {}): Pod => ({
  metadata: { name, namespace: 'default', ...metadata },
  spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'x' }], ...spec },
});

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, logger, qps: 0 });
  pods = new ResourceClient<Pod>(client, podResource, 'default');
  nodes = new ResourceClient<Node>(client, nodeResource);
  simulation = new Simulation({ client, clock, logger, nodes: names, leaseDurationSeconds: 4 });
  running = simulation.run(stop.signal);
  await simulation.registered();
});

afterAll(async () => {
  stop.abort();
  await running;
  await client.close();
  await server.stop();
});

test('every node registers, is Ready, and has a lease that is renewed', async () => {
  await until(() => simulation.counts.nodesReady === names.length);
  const { items } = await nodes.list();
  expect(items.map(({ metadata }) => metadata?.name).sort()).toEqual(names);
  expect(new Set(items.map(({ status }) => status?.addresses?.[0]?.address)).size).toBe(names.length);
  expect(new Set(items.map(({ status }) => status?.nodeInfo?.systemUUID)).size).toBe(names.length);
  const leases = new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease');
  const before = await leases.get('node-2');
  expect(before.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: 'node-2' });
  await until(async () => (await leases.get('node-2')).spec?.renewTime !== before.spec?.renewTime);
});

test('pods become Ready on their nodes, with addresses of their own, and end when they are deleted', async () => {
  const load = { client, clock, logger, nodes: names, podsPerNode: 3, namespace: 'default', image: 'x' };
  await createLoad(load, stop.signal);
  await until(() => simulation.counts.podsReady === 15);
  const { items } = await pods.list({ labelSelector: 'podtender.io/simulated-load=true' });
  expect(new Set(items.map(({ status }) => status?.podIP)).size).toBe(15);
  expect(items.filter(({ spec }) => spec?.nodeName === 'node-4')).toHaveLength(3);
  expect(new Set(items.map(({ status }) => status?.containerStatuses?.[0]?.containerID)).size).toBe(15);
  await createLoad(load, stop.signal); // what exists is left as it is
  for (const { metadata } of items) await pods.delete(metadata?.name ?? '');
  await until(() => simulation.counts.pods === 0);
});

test('init containers and sidecars run in the order of the kubelet, and Ready comes last', async () => {
  const phases: string[] = [];
  const seen = simulation.pods.addHandler({
    updated: (_old, { metadata, status }) => {
      if (metadata?.name !== 'staged') return;
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      const running = status?.containerStatuses?.every(({ state }) => state?.running) === true;
      phases.push(`${status?.phase ?? ''} ready=${ready ?? ''} running=${running}`);
    },
  });
  const initContainers = [
    { name: 'first', image: 'x' },
    { name: 'side', image: 'x', restartPolicy: 'Always' },
  ];
  const annotations = { 'podtender.io/memory.app.start-delay-ms': '50' };
  await pods.create(podOf('staged', { initContainers }, { annotations }));
  await until(() => phases.at(-1) === 'Running ready=True running=true');
  expect(phases.filter((one) => one.includes('ready=True running=false'))).toEqual([]);
  const { status } = await pods.get('staged');
  expect(status?.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {})[0])).toEqual([
    'terminated',
    'running',
  ]);
  seen.remove();
  await pods.delete('staged', { gracePeriodSeconds: 0 });
});

test('a pod ends within its grace period, and its object only after its containers', async () => {
  const annotations = { 'podtender.io/memory.stop-delay-ms': '300' };
  await pods.create(podOf('slow', { terminationGracePeriodSeconds: 5 }, { annotations }));
  await until(async () => (await pods.get('slow')).status?.phase === 'Running');
  const at = clock.now();
  await pods.delete('slow');
  await until(() => simulation.pod('default', 'slow') === undefined);
  expect(clock.now() - at).toBeGreaterThanOrEqual(250);
});

test('a node that restarts keeps its containers, and writes nothing for pods that did not change', async () => {
  await pods.create(podOf('steady', {}));
  await until(async () => (await pods.get('steady')).status?.phase === 'Running');
  const before = await pods.get('steady');
  await simulation.node('node-1')?.restart(false);
  await clock.sleep(300);
  expect((await pods.get('steady')).metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
  await simulation.node('node-1')?.restart(true);
  await until(async () => (await pods.get('steady')).status?.containerStatuses?.[0]?.restartCount === 1);
  await pods.delete('steady');
});

test('a node that cannot reach the API server learns of its pods when the connection is back', async () => {
  const node = simulation.node('node-3');
  node?.disconnect();
  await pods.create(podOf('late', { nodeName: 'node-3' }));
  await until(() => simulation.pod('default', 'late'));
  await clock.sleep(200);
  expect((await pods.get('late')).status?.phase).toBe('Pending');
  node?.reconnect();
  await until(async () => (await pods.get('late')).status?.phase === 'Running');
  await pods.delete('late');
});

test('the pods of a node that another process ran continue: no container restarts', async () => {
  await pods.create(podOf('handed-over', { nodeName: 'node-0' }));
  await until(async () => (await pods.get('handed-over')).status?.phase === 'Running');
  const before = await pods.get('handed-over');
  const other = new Simulation({ client, clock, logger, nodes: ['node-0'], leaseDurationSeconds: 4 });
  const ended = new AbortController();
  await simulation.node('node-0')?.stop();
  const run = other.run(ended.signal);
  await until(() => other.counts.podsReady === 1);
  await clock.sleep(300);
  const after = await pods.get('handed-over');
  expect(after.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  expect(after.metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
  await pods.delete('handed-over');
  await until(() => other.counts.pods === 0);
  ended.abort();
  await run;
});

test('a node lies about its capacity while a fault lasts, and sends no lease while its heartbeats stop', async () => {
  const cpuOf = async (): Promise<string | undefined> =>
    (await nodes.get('node-4')).status?.capacity?.['cpu'];
  const honest = await cpuOf();
  await simulation.claim('node-4', { cpu: '1' });
  expect(await cpuOf()).toBe('1');
  expect((await nodes.get('node-4')).status?.allocatable?.['memory']).toBeDefined();
  await simulation.claim('node-4', undefined);
  expect(await cpuOf()).toBe(honest);

  const leases = new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease');
  simulation.setHeartbeat('node-4', false);
  const { renewTime } = (await leases.get('node-4')).spec ?? {};
  await clock.sleep(1500);
  expect((await leases.get('node-4')).spec?.renewTime).toBe(renewTime);
  simulation.setHeartbeat('node-4', true);
  await until(async () => (await leases.get('node-4')).spec?.renewTime !== renewTime);
  expect(() => {
    simulation.setHeartbeat('other', true);
  }).toThrow('node other is not part of this simulation');
});
