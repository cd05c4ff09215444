import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import type { ApiConnection } from '../../src/api/rest/connection.ts';
import { startSimulation, type RunningSimulation } from '../../src/app/simulate.ts';
import { systemClock as clock } from '../../src/base/clock.ts';

let running: RunningSimulation;
let connection: ApiConnection;

beforeAll(async () => {
  running = await startSimulation(
    {
      ...{ nodes: 3, podsPerNode: 2, stages: [], seed: '0', output: 'json', port: 0, kubeletPort: 0 },
      ...{
        nodePrefix: 'edge',
        namespace: 'default',
        logLevel: 'error',
        metricsPort: 0,
        shardLeaseMs: 15_000,
      },
    },
    {},
  );
  connection = await connectionFromKubeconfig(clock, running.kubeconfigPath);
  await vi.waitFor(
    () => {
      expect(running.counts()).toEqual({ nodes: 3, nodesReady: 3, pods: 6, podsReady: 6 });
    },
    { timeout: 20_000 },
  );
});

afterAll(async () => {
  const file = running.kubeconfigPath ?? '';
  await running.close();
  expect(() => readFileSync(file)).toThrow('ENOENT');
});

async function get(path: string): Promise<{ readonly status: number; readonly body: string }> {
  const { ca, cert, key, server } = { ...connection, ...(await connection.credentials?.current()) };
  return new Promise((resolve, reject) => {
    request(`${server}${path}`, { ca, cert, key } as object, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += String(chunk)));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body });
      });
    })
      .on('error', reject)
      .end();
  });
}

test('the API server reaches the logs of a pod through the kubelet API of its node', async () => {
  const { status, body } = await get('/api/v1/namespaces/default/pods/edge-1-pod-0/log');
  expect([status, body]).toEqual([200, 'simulated container app started\n']);
});

test('each node answers with its own pods, on one port', async () => {
  for (const node of ['edge-0', 'edge-2']) {
    const { body } = await get(`/api/v1/nodes/${node}/proxy/pods`);
    const { items } = JSON.parse(body) as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([`${node}-pod-0`, `${node}-pod-1`]);
  }
});

test('the process reports what it has used', () => {
  const { cpuSeconds, rssMiB } = running.usage();
  expect([cpuSeconds > 0, rssMiB > 10]).toEqual([true, true]);
});
