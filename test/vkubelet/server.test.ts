import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { Server, type ServerConfig } from '../../src/vkubelet/index.ts';
import { Backend } from './support.ts';

let api: EmbeddedApiServer;
let client: HttpApiClient;
const stop = new AbortController();

beforeEach(async () => {
  api = await EmbeddedApiServer.start();
  client = createApiClient({ server: api.url, ca: api.ca, ...api.admin }, { clock: systemClock });
});

afterEach(async () => {
  await client.close();
  await api.stop();
});

test('a provider of the first releases is registered as it describes its node, and runs pods', async () => {
  const backend = new Backend();
  const provider: ServerConfig['provider'] = {
    ...backend.handler(true),
    capacity: () => ({ cpu: '8', memory: '4Gi', pods: '10' }),
    nodeConditions: () => [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    nodeAddresses: () => [{ type: 'InternalIP', address: '203.0.113.7' }],
    operatingSystem: () => 'Linux',
  };
  const taint = { key: 'virtual-kubelet.io/provider', value: 'rooms', effect: 'NoSchedule' };
  const server = new Server({ nodeName: 'rooms', provider, client, taint });
  const running = server.run(stop.signal);
  try {
    await Promise.race([server.ready, running]);
    const node = await client.get<Node>(nodeResource, { name: 'rooms' });
    expect(node.spec?.taints).toContainEqual(taint);
    expect(node.status).toMatchObject({
      capacity: { cpu: '8', memory: '4Gi', pods: '10' },
      allocatable: { cpu: '8', memory: '4Gi', pods: '10' },
      addresses: [{ type: 'InternalIP', address: '203.0.113.7' }],
    });
    expect(node.metadata?.labels).toMatchObject({ 'kubernetes.io/os': 'linux' });
    await client.create<Pod>(podResource, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default' },
      spec: { nodeName: 'rooms', containers: [{ name: 'main', image: 'any' }] },
    });
    await vi.waitFor(
      async () => {
        const pod = await client.get<Pod>(podResource, { namespace: 'default', name: 'web' });
        expect(pod.status?.phase).toBe('Running');
      },
      { timeout: 5000 },
    );
  } finally {
    stop.abort();
    await running;
  }
  expect([...backend.pods.keys()]).toEqual(['default/web']);
}, 20_000);

test('a server without a provider names what is missing', () => {
  expect(() => new Server({ nodeName: 'rooms' } as never)).toThrow('missing provider: set `provider`');
});
