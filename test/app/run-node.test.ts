import { afterEach, expect, test, vi } from 'vitest';
import { JobQueue } from '../../examples/job-queue.ts';
import { Processes } from '../../examples/processes.ts';
import { Rooms } from '../../examples/rooms.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { runNode, type RunningNode } from '../../src/app/run-node.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Node, Pod, PodSpec } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

let node: RunningNode | undefined;
let client: HttpApiClient | undefined;

afterEach(async () => {
  await client?.close();
  await node?.stop();
  node = undefined;
  client = undefined;
});

/** A client of the embedded server of `node`. */
function api(): HttpApiClient {
  const { server } = node ?? {};
  if (!server) throw new Error('the node has no server');
  client ??= createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock: systemClock });
  return client;
}

const create = (name: string, spec: Partial<PodSpec> = {}): Promise<Pod> =>
  api().create<Pod>(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'n', containers: [{ name: 'main', image: 'any' }], ...spec },
  });

const until = (name: string, phase: string): Promise<Pod> =>
  vi.waitFor(
    async () => {
      const pod = await api().get<Pod>(podResource, { namespace: 'default', name });
      expect(pod.status?.phase).toBe(phase);
      return pod;
    },
    { timeout: 15_000 },
  );

const gone = (name: string): Promise<void> =>
  vi.waitFor(
    async () => {
      await expect(api().get<Pod>(podResource, { namespace: 'default', name })).rejects.toThrow('not found');
    },
    { timeout: 15_000 },
  );

test('records in memory are a whole node', async () => {
  const rooms = new Rooms();
  node = await runNode({ nodeName: 'n', provider: rooms, server: 'embedded', listPeriodMs: 200 });
  const { status } = await api().get<Node>(nodeResource, { name: 'n' });
  expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
  await create('web');
  await until('web', 'Running');
  await api().delete(podResource, { namespace: 'default', name: 'web' });
  await gone('web');
  expect(rooms.rooms.size).toBe(0);
}, 30_000);

test('a provider of podtender/provider runs the same way, and so does what makes one', async () => {
  node = await runNode({
    nodeName: 'n',
    provider: () => new MemoryProvider({ clock: systemClock }),
    server: 'embedded',
    node: (made) => {
      made.metadata.labels['example.com/rooms'] = 'yes';
      made.status.capacity = { cpu: '3', memory: '1Gi', pods: '7' };
    },
  });
  await create('web');
  await until('web', 'Running');
  const made = await api().get<Node>(nodeResource, { name: 'n' });
  expect(made.metadata?.labels?.['example.com/rooms']).toBe('yes');
  expect(made.status?.allocatable?.['pods']).toBe('7');
}, 30_000);

test('processes have logs and real exit codes, and what they cannot do is refused by name', async () => {
  node = await runNode({ nodeName: 'n', provider: new Processes(), server: 'embedded' });
  const shell = (script: string) => ({
    restartPolicy: 'Never' as const,
    containers: [{ name: 'main', image: 'none', command: ['/bin/sh', '-c', script] }],
    automountServiceAccountToken: false,
  });
  await create('ends', shell('echo hello; exit 3'));
  const ended = await until('ends', 'Failed');
  expect(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
  const log = await api().raw('/api/v1/namespaces/default/pods/ends/log', { method: 'GET' });
  expect(log).toBe('hello\n');
  await create('sleeps', shell('trap "exit 5" TERM; while true; do sleep 0.05; done'));
  await until('sleeps', 'Running');
  await api().delete(podResource, { namespace: 'default', name: 'sleeps' });
  await gone('sleeps');
  await create('always', { automountServiceAccountToken: false });
  const refused = await until('always', 'Failed');
  expect(refused.status?.message).toContain('does not support restartPolicy Always');
}, 60_000);

test('a job queue keeps its pods over a restart of the agent', async () => {
  const queue = new JobQueue(':memory:');
  const { EmbeddedApiServer } = await import('../../src/apiserver/index.ts');
  const server = await EmbeddedApiServer.start();
  try {
    node = await runNode({ nodeName: 'n', provider: queue, server, listPeriodMs: 200 });
    await create('job', { restartPolicy: 'Never', automountServiceAccountToken: false });
    const waiting = await vi.waitFor(async () => {
      const pod = await api().get<Pod>(podResource, { namespace: 'default', name: 'job' });
      expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('Queued');
      return pod;
    }, 10_000);
    expect(queue.take()).toBe(waiting.metadata?.uid);
    await until('job', 'Running');
    await node.stop();
    queue.finish(waiting.metadata?.uid ?? '', 4);
    node = await runNode({ nodeName: 'n', provider: queue, server, listPeriodMs: 200 });
    const ended = await until('job', 'Failed');
    expect(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
  } finally {
    await client?.close();
    await node?.stop();
    client = undefined;
    node = undefined;
    await server.stop();
    queue.close();
  }
}, 60_000);

test('what is missing is said', async () => {
  await expect(runNode({ nodeName: 'n' } as never)).rejects.toThrow(
    'runNode needs a provider: set `provider`',
  );
  await expect(
    runNode({ nodeName: 'n', provider: { createPod: () => undefined } as never, server: 'embedded' }),
  ).rejects.toThrow('the provider lacks updatePod(), deletePod(), getPod(), getPodStatus(), getPods()');
}, 20_000);
