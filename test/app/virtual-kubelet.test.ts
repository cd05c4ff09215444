import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import {
  type RunningVirtualKubelet,
  startVirtualKubelet,
  type VirtualKubeletOptions,
} from '../../src/app/virtual-kubelet.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Node, Pod } from '../../src/kube/types.ts';

let dir: string;
let server: EmbeddedApiServer;
let running: RunningVirtualKubelet | undefined;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pt-vk-'));
  server = await EmbeddedApiServer.start();
  writeFileSync(join(dir, 'kubeconfig'), server.kubeconfig());
});

afterEach(async () => {
  await running?.stop();
  running = undefined;
  await server.stop();
  rmSync(dir, { recursive: true });
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function start(more: Partial<VirtualKubeletOptions>): Promise<RunningVirtualKubelet> {
  const context = { load: (url: string) => import(url), signal: AbortSignal.timeout(20_000) };
  running = await startVirtualKubelet(
    {
      ...{ cwd: dir, kubeconfig: join(dir, 'kubeconfig'), nodeName: 'vk', operatingSystem: 'linux' },
      ...{
        provider: 'mock',
        clusterDomain: 'cluster.local',
        port: 0,
        podSyncWorkers: 10,
        podIP: '127.0.0.1',
      },
      ...{ fullResyncPeriodMs: 60_000, startupTimeoutMs: 20_000, logLevel: 'error', version: '0.1.0' },
      ...{ streamIdleTimeoutMs: 30_000, streamCreationTimeoutMs: 30_000 },
      ...more,
    },
    context,
  );
  return running;
}

test('--metrics-addr serves health, pods, statistics and metrics without authentication, and no way into pods', async () => {
  const port = await freePort();
  await start({ metricsAddr: `127.0.0.1:${port}` });
  const client = createApiClient(
    { server: server.url, ca: server.ca, ...server.admin },
    { clock: systemClock },
  );
  await client.create<Pod>(podResource, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' } },
    spec: { nodeName: 'vk', containers: [{ name: 'main', image: 'any' }] },
  });
  const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method });
  await vi.waitFor(
    async () => {
      const summary = (await (await get('/stats/summary')).json()) as { pods: { podRef: object }[] };
      expect(summary.pods.map(({ podRef }) => podRef)).toMatchObject([{ name: 'web', namespace: 'default' }]);
    },
    { timeout: 10_000 },
  );
  expect(await (await get('/healthz')).text()).toBe('ok');
  expect(await (await get('/metrics')).text()).toContain('kubelet_');
  expect(await (await get('/metrics/resource')).text()).toContain('PodName="web"');
  expect(await (await get('/pods')).json()).toMatchObject({ items: [{ metadata: { name: 'web' } }] });
  expect((await get('/exec/default/web/main?command=ls&output=1', 'POST')).status).toBe(405);
  await client.close();
  await running?.stop();
  await expect(get('/healthz')).rejects.toThrow('fetch failed');
});

test('the node has the taint, system and addresses of the command line', async () => {
  await start({ taint: { key: 'k', value: 'v', effect: 'NoSchedule' }, operatingSystem: 'windows' });
  const client = createApiClient(
    { server: server.url, ca: server.ca, ...server.admin },
    { clock: systemClock },
  );
  const node = await client.get<Node>(nodeResource, { name: 'vk' });
  await client.close();
  expect(node.spec?.taints).toContainEqual({ key: 'k', value: 'v', effect: 'NoSchedule' });
  expect(node.metadata?.labels?.['kubernetes.io/os']).toBe('windows');
  expect(node.status?.addresses).toEqual([{ type: 'InternalIP', address: '127.0.0.1' }]);
});

test.for([
  ['', 'no provider: name one with --provider'],
  ['./none.mjs', '--provider ./none.mjs: '],
])('a provider "%s" is refused: %s', async ([provider = '', message = '']) => {
  await expect(start({ provider })).rejects.toThrow(message);
});
