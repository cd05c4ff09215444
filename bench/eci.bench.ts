/**
 * Counts the requests for pods at Alibaba Cloud's ECI: `podtender run --provider eci` against a fake of the service in this process. Aims:
 * 1,000 groups are listed within 2 s, and no number of requests grows with pods times groups.
 *
 * Argument: the number of pods; default 1000. Prints requests per pod, and per minute at rest, by action.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient } from '../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import type { Pod } from '../src/kube/types.ts';
import { type FakeEci, startFakeEci } from '../src/providers/eci/fake/index.ts';
import { EciProvider } from '../src/providers/eci/index.ts';
import { inParallel, LineProcess, percentile, round, rssMiBOf, wholeCpuMsOf } from './support/processes.ts';
import { World } from './support/world.ts';

const nodeName = 'eci';
const count = Number(process.argv[2] ?? 1000);
const program = new URL('../bin/podtender.mjs', import.meta.url).pathname;

const podOf = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    nodeName,
    tolerations: [{ operator: 'Exists' }],
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'web', resources: { requests: { cpu: '250m', memory: '512Mi' } } }],
  },
});

const print = (what: string, figures: object): void => {
  process.stdout.write(`${what.padEnd(24)} ${JSON.stringify(figures)}\n`);
};

/** The number of requests to the fake since `from`, by action. */
function askedSince(eci: FakeEci, from: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { action } of eci.calls.slice(from)) counts[action] = (counts[action] ?? 0) + 1;
  return counts;
}

function startAgent(dir: string, eci: FakeEci): ChildProcess {
  const words = [
    'run',
    '--healthz-port=0',
    '--provider',
    'eci',
    '--node-name',
    nodeName,
    '--kubeconfig',
    join(dir, 'node.kubeconfig'),
  ];
  const settings = [
    '--data-dir',
    join(dir, 'agent'),
    `--port=${10_000 + (process.pid % 20_000)}`,
    '--max-pods=10000',
  ];
  return spawn(
    process.execPath,
    [program, ...words, ...settings, '--kube-api-qps=100000', '--kube-api-burst=100000'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ECI_ENDPOINT: eci.url,
        ECI_REGION: 'cn-hangzhou',
        ECI_ACCESS_KEY: 'fake-id',
        ECI_SECRET_KEY: 'fake-secret',
        ECI_SECURITY_GROUP: 'sg-1',
        ECI_VSWITCH: 'vsw-1',
        ECI_MAX_QPS: '200',
      },
    },
  );
}

/** Measures the first complete listing of a starting provider, ms. */
async function listing(eci: FakeEci): Promise<number> {
  const keys = { accessKeyId: 'fake-id', accessKeySecret: 'fake-secret' };
  const account = { region: 'cn-hangzhou', securityGroup: 'sg-1', vSwitch: 'vsw-1', endpoint: eci.url };
  const provider = new EciProvider({ ...account, ...keys, nodeName, clock });
  const startedAt = performance.now();
  const pods = await provider.listPods();
  const ms = performance.now() - startedAt;
  provider.close();
  if (pods.length !== count) throw new Error(`${pods.length} of ${count} groups were listed`);
  return ms;
}

const dir = await mkdtemp(join(tmpdir(), 'bench-eci-'));
const server = new LineProcess('agent-server.ts', [dir, nodeName]);
await server.read();
const eci = await startFakeEci();
const agent = startAgent(dir, eci);
const connection = await connectionFromKubeconfig(clock, join(dir, 'admin.kubeconfig'));
const client = createApiClient(connection, { clock, qps: 0 });
const world = new World(client, nodeName, podOf);
try {
  await world.nodeReady();
  let from = eci.calls.length;
  const cpuBefore = wholeCpuMsOf(agent.pid ?? 0);
  const created: Promise<number>[] = [];
  const startedAt = performance.now();
  await inParallel(count, 16, async (index) => {
    const { accepted, done } = world.create(`pod-${index}`);
    created.push(done);
    await accepted;
  });
  const latencies = await Promise.all(created);
  print('created', {
    pods: count,
    seconds: round((performance.now() - startedAt) / 1000),
    'p50 s': round(percentile(latencies, 0.5) / 1000),
    'agent CPU ms per pod': round((wholeCpuMsOf(agent.pid ?? 0) - cpuBefore) / count, 2),
    'requests per pod': round((eci.calls.length - from) / count, 2),
    asked: askedSince(eci, from),
  });
  const lists = [];
  for (let round = 0; round < 5; round++) lists.push(await listing(eci));
  print('listing of a start', { groups: count, 'ms, median of 5': round(percentile(lists, 0.5)) });
  await sleep(5000);
  from = eci.calls.length;
  const restCpu = wholeCpuMsOf(agent.pid ?? 0);
  await sleep(60_000);
  print('at rest, one minute', {
    requests: eci.calls.length - from,
    asked: askedSince(eci, from),
    'CPU %': round((wholeCpuMsOf(agent.pid ?? 0) - restCpu) / 600, 2),
    'RSS MiB': round(rssMiBOf(agent.pid ?? 0)),
  });
  from = eci.calls.length;
  const deleted: Promise<number>[] = [];
  const deletedAt = performance.now();
  await inParallel(count, 16, async (index) => {
    const { accepted, done } = world.remove(`pod-${index}`);
    deleted.push(done);
    await accepted;
  });
  await Promise.all(deleted);
  print('deleted', {
    seconds: round((performance.now() - deletedAt) / 1000),
    'requests per pod': round((eci.calls.length - from) / count, 2),
    asked: askedSince(eci, from),
    'groups left': eci.groups.length,
  });
} finally {
  agent.kill('SIGKILL');
  server.stop();
  await eci.stop();
  await rm(dir, { recursive: true, force: true });
}
process.exit(0);
