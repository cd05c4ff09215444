import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import {
  type AnyProvider,
  attachMetricsRoutes,
  attachPodRoutes,
  exitError,
  metricsSummaryHandler,
  mountHandler,
  noAuth,
  podHandler,
  type RoutesOptions,
} from '../../src/vkubelet/index.ts';
import { Backend, runningStatus } from './support.ts';

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const pod: Pod = {
  metadata: { name: 'web', namespace: 'ns', uid: 'u-1' },
  spec: { containers: [{ name: 'main', image: 'any' }] },
};

function providerWith(more: Partial<AnyProvider> = {}): AnyProvider {
  const backend = new Backend();
  backend.add(pod);
  return { ...backend.handler(false), ...more };
}

type Mount = (server: ReturnType<typeof createServer>) => void;

async function served(mount: Mount): Promise<(path: string, method?: string) => Promise<Response>> {
  const server = createServer();
  mount(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (path, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method });
}

const options: RoutesOptions = {
  auth: noAuth(),
  getPodsFromKubernetes: () => [{ ...pod, status: runningStatus(pod) }],
};

test('attachPodRoutes serves the pods, their logs and their commands', async () => {
  const asked: unknown[] = [];
  const provider = providerWith({
    getContainerLogs: (namespace, name, container, { tail }) => {
      asked.push([namespace, name, container, tail]);
      return Promise.resolve(Readable.from(['one\n', 'two\n']));
    },
    runInContainer: (_namespace, _pod, _container, command, { stdout }) => {
      stdout?.write(`ran ${command.join(' ')}\n`);
      return command[0] === 'fail' ? Promise.reject(exitError(3)) : Promise.resolve();
    },
  });
  const get = await served((server) => {
    attachPodRoutes(provider, server, options);
  });
  const { items } = (await (await get('/pods')).json()) as { readonly items: readonly Pod[] };
  expect(items.map(({ metadata }) => metadata?.name)).toEqual(['web']);
  expect(await (await get('/containerLogs/ns/web/main?tailLines=2')).text()).toBe('one\ntwo\n');
  expect(asked).toEqual([['ns', 'web', 'main', 2]]);
  expect(await (await get('/run/ns/web/main?cmd=say', 'POST')).text()).toBe('ran say\n');
  expect((await get('/stats/summary')).status).toBe(404);
});

test('a method that the provider lacks is answered with 501', async () => {
  const get = await served((server) => {
    attachPodRoutes(providerWith(), server, options);
  });
  expect((await get('/containerLogs/ns/web/main')).status).toBe(501);
});

test('requests that no authenticator knows are refused', async () => {
  const auth = { ...noAuth(), anonymousAuth: false };
  const get = await served((server) => {
    attachPodRoutes(providerWith(), server, { ...options, auth });
  });
  expect((await get('/pods')).status).toBe(401);
});

test('pods are the provider’s where the caller does not say what Kubernetes has', async () => {
  const handler = podHandler(providerWith(), { auth: noAuth() });
  const get = await served((server) => {
    mountHandler(server, handler);
  });
  await vi.waitFor(async () => {
    expect(await (await get('/pods')).json()).toMatchObject({ items: [{ metadata: { name: 'web' } }] });
  });
});

test('attachMetricsRoutes serves statistics and metrics alone', async () => {
  const provider = providerWith({
    getStatsSummary: () => Promise.resolve({ node: { nodeName: 'virtual' }, pods: [] }),
    getMetricsResource: () => Promise.resolve('node_cpu_usage_seconds_total 1\n'),
  });
  const get = await served((server) => {
    attachMetricsRoutes(provider, server, options);
  });
  expect(await (await get('/stats/summary')).json()).toMatchObject({ node: { nodeName: 'virtual' } });
  expect(await (await get('/metrics/resource')).text()).toContain('node_cpu_usage_seconds_total 1');
  expect((await get('/pods')).status).toBe(404);
  const summary = await served((server) => {
    mountHandler(server, metricsSummaryHandler(provider, options));
  });
  expect((await summary('/stats/summary')).status).toBe(200);
});
