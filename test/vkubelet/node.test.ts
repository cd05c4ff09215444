import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { leaseResource, nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Lease, Node, Pod } from '../../src/kube/types.ts';
import {
  MockProvider,
  newNode,
  NaiveNodeProviderV2,
  noAuth,
  unavailable,
  type VirtualNode,
} from '../../src/vkubelet/index.ts';

let server: EmbeddedApiServer;
let client: HttpApiClient;
let stop: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
  await client.close();
  await server.stop();
});

const connection = () => ({ server: server.url, ca: server.ca, ...server.admin });

function start(node: VirtualNode): Promise<void> {
  running = node.run(stop.signal);
  running.catch(() => undefined);
  return node.waitReady(AbortSignal.timeout(10_000));
}

const create = (name: string): Promise<Pod> =>
  client.create<Pod>(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'virtual', containers: [{ name: 'main', image: 'any' }] },
  });

const podOf = (name: string): Promise<Pod> => client.get<Pod>(podResource, { namespace: 'default', name });
const nodeOf = (): Promise<Node> => client.get<Node>(nodeResource, { name: 'virtual' });
const readyOf = (node: Node) => node.status?.conditions?.find(({ type }) => type === 'Ready');

test('a node of a provider is registered, Ready, and runs pods', async () => {
  const node = newNode(
    'virtual',
    (config) => {
      const provider = new MockProvider({ nodeName: 'virtual', internalIP: '127.0.0.1' });
      provider.configureNode(config.node);
      return [provider];
    },
    (config) => {
      config.connection = connection();
      config.httpListenAddr = '127.0.0.1:0';
      config.auth = noAuth();
      config.providerName = 'mock';
    },
  );
  await start(node);
  const made = await vi.waitFor(async () => {
    const registered = await nodeOf();
    expect(readyOf(registered)?.status).toBe('True');
    return registered;
  });
  expect(made.status?.capacity?.['cpu']).toBe('20');
  expect(made.metadata?.labels).toMatchObject({ type: 'virtual-kubelet', 'kubernetes.io/role': 'agent' });
  expect(made.status?.daemonEndpoints?.kubeletEndpoint?.Port).toBe(node.address.port);
  const lease = await client.get<Lease>(leaseResource, { namespace: 'kube-node-lease', name: 'virtual' });
  expect(lease.spec?.leaseDurationSeconds).toBe(40);
  await create('web');
  await vi.waitFor(
    async () => {
      expect((await podOf('web')).status).toMatchObject({ phase: 'Running', podIP: '5.6.7.8' });
    },
    { timeout: 5000 },
  );
  await client.delete(podResource, { namespace: 'default', name: 'web' });
  await vi.waitFor(
    async () => {
      await expect(podOf('web')).rejects.toThrow('not found');
    },
    { timeout: 5000 },
  );
}, 20_000);

// users-ask 35: with a failing ping no NotReady was ever written
test('a node whose provider fails its ping is NotReady, and says why', async () => {
  let fails = false;
  class Flaky extends NaiveNodeProviderV2 {
    override ping(): Promise<void> {
      return fails ? Promise.reject(unavailable('the region is down')) : Promise.resolve();
    }
  }
  const { NodeController, withNodePingInterval } = await import('../../src/vkubelet/index.ts');
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  const controller = new NodeController(
    new Flaky(),
    { metadata: { name: 'virtual' }, status },
    client,
    withNodePingInterval(50),
  );
  running = controller.run(stop.signal);
  await controller.ready;
  await vi.waitFor(async () => {
    expect(readyOf(await nodeOf())?.status).toBe('True');
  });
  fails = true;
  await vi.waitFor(async () => {
    expect(readyOf(await nodeOf())).toMatchObject({
      status: 'False',
      message: 'provider: the region is down',
    });
  });
  fails = false;
  await vi.waitFor(async () => {
    expect(readyOf(await nodeOf())?.status).toBe('True');
  });
});

test('conditions and labels of others stay, and what the provider takes back goes', async () => {
  const { updateNodeStatus } = await import('../../src/vkubelet/index.ts');
  const { ResourceClient } = await import('../../src/api/resource-client.ts');
  const nodes = new ResourceClient<Node>(client, nodeResource);
  await nodes.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'virtual' } });
  const cond = (type: string) => ({ type, status: 'True' });
  const wanted = (labels: Record<string, string>, ...types: string[]): Node => ({
    metadata: { name: 'virtual', labels },
    status: { conditions: types.map(cond) },
  });
  await updateNodeStatus(nodes, wanted({ a: '1', b: '2' }, 'A', 'B'));
  const foreign = { metadata: { labels: { other: 'x' } }, status: { conditions: [cond('C')] } };
  await nodes.patch('virtual', { type: 'strategic', body: foreign }, { subresource: 'status' });
  await nodes.patch('virtual', { type: 'strategic', body: { metadata: foreign.metadata } });
  const after = await updateNodeStatus(nodes, wanted({ a: '1' }, 'A'));
  expect(after.status?.conditions?.map(({ type }) => type).sort()).toEqual(['A', 'C']);
  expect(after.metadata?.labels).toMatchObject({ a: '1', other: 'x' });
  expect(after.metadata?.labels).not.toHaveProperty('b');
});

test('a node that cannot be made says what is missing', () => {
  expect(() =>
    newNode(
      'n',
      () => [new MockProvider({ nodeName: 'n' })],
      (config) => {
        config.httpListenAddr = '10250';
      },
    ),
  ).toThrow('write it as host:port or :port, such as :10250');
});
