import { get } from 'node:https';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ApiClient } from '../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { leaseResource, nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Lease, Node, Pod } from '../../src/kube/types.ts';
import {
  instrumentHandler,
  MockProvider,
  newNode,
  NaiveNodeProviderV2,
  noAuth,
  type NodeConfig,
  podHandler,
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

/** The mock provider, as one whose backend outlives the agent. */
class LastingMock extends MockProvider {
  tell: (pod: Pod) => void = () => undefined;
  override notifyPods(notify: (pod: Pod) => void): void {
    super.notifyPods(notify);
    this.tell = notify;
  }
}

/** Starts a node without a kubelet API, whose requests go to `through`. */
function startOf(provider: LastingMock, through: ApiClient, more: Partial<NodeConfig> = {}): Promise<void> {
  const configure = (config: NodeConfig): void => {
    Object.assign(config, { client: through, httpListenAddr: '' }, more);
  };
  return start(newNode('virtual', () => [provider], configure));
}

/** The client, with a list of its calls about pods. */
function watched(calls: string[]): ApiClient {
  return new Proxy(client, {
    get: (target, method: keyof ApiClient) => {
      const call = Reflect.get(target, method) as (...args: unknown[]) => unknown;
      if (typeof call !== 'function') return call;
      return (...args: unknown[]): unknown => {
        if (args[0] === podResource) calls.push(method);
        return call.apply(target, args);
      };
    },
  });
}

const ended = async (): Promise<void> => {
  stop.abort();
  await running;
  stop = new AbortController();
};

test('a restart with every pod in place reads and writes no pod', async () => {
  const provider = new LastingMock({ nodeName: 'virtual' });
  await startOf(provider, client);
  const names = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(names.map(create));
  const allRun = async (): Promise<void> => {
    for (const name of names) expect((await podOf(name)).status?.phase).toBe('Running');
  };
  await vi.waitFor(allRun, { timeout: 5000 });
  await ended();
  const calls: string[] = [];
  await startOf(provider, watched(calls), { periods: { syncTickMs: 20, relistMs: 20 } });
  await create('new');
  await vi.waitFor(async () => {
    expect((await podOf('new')).status?.phase).toBe('Running');
  }, 5000);
  expect(calls.filter((call) => call !== 'list' && call !== 'watch')).toEqual(['patch']);
}, 20_000);

test('a pod that its backend deletes is deleted in the API, once; one that is being deleted is not deleted again', async () => {
  const provider = new LastingMock({ nodeName: 'virtual' });
  const calls: string[] = [];
  await startOf(provider, watched(calls));
  await create('web');
  await vi.waitFor(async () => {
    expect((await podOf('web')).status?.phase).toBe('Running');
  }, 5000);
  const known = await provider.getPod('default', 'web');
  const deletionTimestamp = '2026-03-04T05:06:07Z';
  const metadata = { ...known.metadata, deletionTimestamp, deletionGracePeriodSeconds: 5 };
  for (let times = 0; times < 3; times++) provider.tell({ ...known, metadata });
  await vi.waitFor(async () => {
    await expect(podOf('web')).rejects.toThrow('not found');
  }, 5000);
  // one for the backend's deletion, one that removes the ended pod
  expect(calls.filter((call) => call === 'delete')).toHaveLength(2);
}, 20_000);

test('a handler of one’s own answers in place of the kubelet’s paths', async () => {
  const provider = new MockProvider({ nodeName: 'virtual' });
  const asked: string[] = [];
  const node = newNode(
    'virtual',
    () => [provider],
    (config) => {
      const pods = podHandler(provider, { auth: noAuth() });
      Object.assign(config, { client, httpListenAddr: '127.0.0.1:0' });
      config.handler = instrumentHandler(pods, (request, next) => {
        asked.push(request.target);
        return next();
      });
    },
  );
  await start(node);
  const { port } = node.address;
  const statusOf = (path: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).once('error', reject);
    });
  // without credentials, which the kubelet's own paths would ask for
  expect(await statusOf('/runningpods/')).toBe(200);
  expect(await statusOf('/metrics')).toBe(404);
  expect(asked).toEqual(['/runningpods/', '/metrics']);
});

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
