import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { configMapResource, nodeResource, podResource, secretResource } from '../../src/api/resources.ts';
import { type RunningNode, runNode } from '../../src/app/run-node.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { type FakeEci, startFakeEci } from '../../src/providers/eci/fake/index.ts';
import { EciProvider } from '../../src/providers/eci/index.ts';

let eci: FakeEci;
let provider: EciProvider;
let node: RunningNode;
let client: HttpApiClient;

beforeAll(async () => {
  eci = await startFakeEci();
  provider = new EciProvider({
    endpoint: eci.url,
    region: 'cn-hangzhou',
    accessKeyId: 'fake-id',
    accessKeySecret: 'fake-secret',
    securityGroup: 'sg-1',
    vSwitch: 'vsw-1',
    nodeName: 'eci',
    pollIntervalMs: 500,
    quota: { pods: '7' },
    clock,
  });
  node = await runNode({ nodeName: 'eci', provider, server: 'embedded' });
  const server = node.server!;
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
});
afterAll(async () => {
  await client.close();
  await node.stop();
  provider.close();
  await eci.stop();
});

test("the node has the provider's labels, taint and capacity", async () => {
  const found = await client.get<Node>(nodeResource, { name: 'eci' });
  expect(found.metadata?.labels).toMatchObject({ type: 'virtual-kubelet', 'kubernetes.io/role': 'agent' });
  expect(found.spec?.taints).toMatchObject([{ key: 'virtual-kubelet.io/provider', value: 'alibabacloud' }]);
  expect(found.status?.capacity).toMatchObject({ pods: '7', memory: '4Ti' });
});

test('a pod gets its variables, files and pull secrets, and runs', async () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const auths = { 'r.example': { username: 'u', password: 'p' } };
  await client.create(configMapResource, {
    metadata: { name: 'conf', namespace: 'default' },
    data: { greeting: 'hello' },
  } as never);
  await client.create(secretResource, {
    metadata: { name: 'pull', namespace: 'default' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) },
  } as never);
  await client.create(podResource, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      nodeName: 'eci',
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: [{ name: 'pull' }, { name: 'missing' }],
      containers: [
        {
          name: 'main',
          image: 'web',
          env: [{ name: 'G', valueFrom: { configMapKeyRef: { name: 'conf', key: 'greeting' } } }],
        },
      ],
      volumes: [{ name: 'c', configMap: { name: 'conf' } }],
    },
  } as never);
  await vi.waitFor(
    async () => {
      const pod = await client.get<Pod>(podResource, { namespace: 'default', name: 'web' });
      expect(pod.status?.containerStatuses?.[0]?.ready).toBe(true);
    },
    { timeout: 20_000, interval: 200 },
  );
  const sent = JSON.stringify(eci.groups[0]?.parameters);
  expect(sent).toContain('"Key":"G","Value":"hello"');
  expect(sent).toContain(base64('hello'));
  expect(sent).toContain('"Server":"r.example"');
  // the token of the service account is a file, too
  expect(sent).toContain('"Path":"token"');
});
