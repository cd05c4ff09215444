import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EventBroadcaster } from '../../src/api/events/event-recorder.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { ResourceClient } from '../../src/api/resource-client.ts';
import { eventResource, leaseResource, nodeResource, podResource } from '../../src/api/resources.ts';
import { SharedInformers } from '../../src/api/cache/shared-informers.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Event, Lease, Node, Pod } from '../../src/kube/types.ts';
import { nodeStatusSetters } from '../../src/node/default-setters.ts';
import { measureMachine } from '../../src/containers/stats/machine-info.ts';
import { NodeController, nodeLeaseNamespace } from '../../src/node/node-controller.ts';
import { until } from '../support/kube-stub.ts';

let server: EmbeddedApiServer;
let client: HttpApiClient;
let stop: AbortController;

beforeEach(async () => {
  server = await EmbeddedApiServer.start({});
  client = createApiClient(
    { server: server.url, ca: server.ca, ...server.admin },
    { clock: systemClock, qps: 0 },
  );
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await server.stop();
});

test('a measured node registers, becomes ready and holds its lease at the embedded API server', async () => {
  const machine = await measureMachine(tmpdir());
  const recorder = new EventBroadcaster({ client, clock: systemClock }, { host: 'n' });
  const controller = new NodeController(
    '',
    { ping: () => Promise.resolve() },
    new ResourceClient<Node>(client, nodeResource),
    new ResourceClient<Lease>(client, leaseResource, nodeLeaseNamespace),
    {
      identity: { name: 'n', hostname: 'n', operatingSystem: 'linux', architecture: 'amd64' },
      clock: systemClock,
      recorder,
      setters: nodeStatusSetters({
        addresses: {
          nodeIps: ['10.0.0.5'],
          hostname: 'n',
          externalCloudProvider: false,
          validate: () => undefined,
          lookup: () => [],
          resolve: () => '10.0.0.5',
        },
        machine: () => ({ ...machine, maxPods: 110, podsPerCore: 0, reservation: { memory: '64Mi' } }),
        versions: () => ({
          ...machine.system,
          containerRuntimeVersion: 'memory://1',
          kubeletVersion: 'v1.36.2',
        }),
        port: () => 10250,
      }),
    },
  );
  const running = controller.run(stop.signal);
  controller.notifyAgentReady();
  await controller.waitReady();
  const node = await client.get<Node>(nodeResource, { name: 'n' });
  expect(node.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    'MemoryPressure False',
    'DiskPressure False',
    'PIDPressure False',
    'Ready True',
  ]);
  expect(node.status).toMatchObject({
    addresses: [
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'Hostname', address: 'n' },
    ],
    capacity: { pods: '110' },
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: { kubeletVersion: 'v1.36.2', operatingSystem: 'linux' },
  });
  const leases = new SharedInformers({ client, clock: systemClock }).informer<Lease>(leaseResource, {
    namespace: nodeLeaseNamespace,
  });
  void leases.run(stop.signal);
  await until(() => leases.store.size === 1);
  expect(leases.store.list()[0]?.metadata?.ownerReferences?.[0]?.uid).toBe(node.metadata?.uid);
  await recorder.flush();
  const { items } = await client.list<Event>(eventResource, { namespace: 'default' });
  expect(items.map(({ reason }) => reason)).toContain('NodeHasSufficientMemory');
  stop.abort();
  await running;
});

test('informers with selectors follow pods of the embedded API server', async () => {
  const informers = new SharedInformers({ client, clock: systemClock });
  const mine = informers.informer<Pod>(podResource, { fieldSelector: 'spec.nodeName=n' });
  expect(informers.informer<Pod>(podResource, { fieldSelector: 'spec.nodeName=n' })).toBe(mine);
  const labelled = informers.informer<Pod>(podResource, { labelSelector: 'app=web' });
  informers.start(stop.signal);
  await informers.waitSynced();
  const pod = (name: string, nodeName: string, app: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app } },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
  });
  await client.create(podResource, pod('a', 'n', 'web'));
  await client.create(podResource, pod('b', 'other', 'web'));
  await client.create(podResource, pod('c', 'n', 'db'));
  await until(() => mine.store.size === 2 && labelled.store.size === 2);
  await client.patch(
    podResource,
    { namespace: 'default', name: 'a' },
    { type: 'merge', body: { metadata: { labels: { app: 'db' } } } },
  );
  await client.delete(podResource, { namespace: 'default', name: 'c' }, { gracePeriodSeconds: 0 });
  await until(() => mine.store.size === 1 && labelled.store.size === 1);
  expect(mine.store.list().map(({ metadata }) => metadata?.labels?.['app'])).toEqual(['db']);
  expect([mine.stats.lists, labelled.stats.lists]).toEqual([1, 1]);
});
