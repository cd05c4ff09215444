/**
 * Measures the cost of a pod: the agent with the memory provider, as `podtender run` starts it, against an API server in another process.
 * Aims: at most 0.7 ms of agent CPU per pod created, 1.5 ms updated, 0.7 ms deleted; one pod created or deleted within 8 ms; 130 MB with
 * 5,000 pods; after a SIGKILL the lease within 0.4 s and no write to a pod that has not changed.
 *
 * Arguments: the number of pods of each run; default 100 1000 5000 10000. `--cpu-prof=DIR` profiles the agent. `--server=DIR` uses your own
 * API server, with `admin.kubeconfig` and `node.kubeconfig` (for `system:node:bench`) in that directory; requests are then not counted.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient } from '../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import type { Pod } from '../src/kube/types.ts';
import {
  cpuMsOf,
  inParallel,
  LineProcess,
  percentile,
  podtender,
  round,
  rssMiBOf,
} from './support/processes.ts';
import { type Act, World } from './support/world.ts';

const nodeName = 'bench';
const width = 32;
type Asked = Readonly<Record<string, number>>;

type Figures = Record<string, number | string>;

const total = (asked: Asked): number => Object.values(asked).reduce((sum, count) => sum + count, 0);
const nodeFlags = process.argv.filter((word) => word.startsWith('--cpu-prof'));
const serverDir = process.argv.find((word) => word.startsWith('--server='))?.slice('--server='.length);

const podOf = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'bench' } },
  spec: {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'example.com/app:1', resources: { requests: { memory: '1Mi' } } }],
  },
});

interface Run {
  readonly world: World;
  /** The API server, which counts its requests; absent with the user's own server. */
  readonly server: LineProcess | undefined;
  /** The directory of the kubeconfigs. */
  readonly configs: string;
  readonly dir: string;
  agent: ChildProcess;
  readonly pods: number;
}

function startAgent({ configs, dir, pods }: Omit<Run, 'agent'>): ChildProcess {
  const settings = [
    // below the ephemeral port range
    `--port=${10_000 + (process.pid % 20_000)}`,
    `--max-pods=${pods + 1000}`,
    '--kube-api-qps=100000',
    '--kube-api-burst=100000',
  ];
  const words = [
    'run',
    '--provider',
    'memory',
    '--node-name',
    nodeName,
    '--kubeconfig',
    join(configs, 'node.kubeconfig'),
  ];
  return podtender([...words, '--data-dir', join(dir, 'agent'), ...settings], nodeFlags);
}

const pidOf = ({ agent }: Run): number => agent.pid ?? 0;

/** Runs a phase over many pods, as fast as the server accepts them, and returns what it cost the agent. */
async function phase(run: Run, count: number, act: (index: number) => Act): Promise<Figures> {
  await run.server?.ask();
  const cpuBefore = cpuMsOf(pidOf(run));
  const startedAt = performance.now();
  const results: Promise<number>[] = [];
  await inParallel(count, width, async (index) => {
    const { accepted, done } = act(index);
    results.push(done);
    await accepted;
  });
  const latencies = await Promise.all(results);
  const ms = performance.now() - startedAt;
  const cpuMs = cpuMsOf(pidOf(run)) - cpuBefore;
  const asked = await run.server?.ask<Asked>();
  return {
    'per second': Math.round((count / ms) * 1000),
    'p50 ms': round(percentile(latencies, 0.5)),
    'p99 ms': round(percentile(latencies, 0.99)),
    'CPU ms per pod': round(cpuMs / count, 2),
    ...(asked && { 'requests per pod': round(total(asked) / count, 2), asked: JSON.stringify(asked) }),
  };
}

/** Creates and deletes pods one after the other. */
async function oneByOne({ world }: Run, count: number): Promise<Figures> {
  const created: number[] = [];
  const deleted: number[] = [];
  for (let index = 0; index < count; index++) {
    const create = world.create(`one-${index}`);
    await create.accepted;
    created.push(await create.done);
    await sleep(20);
    const remove = world.remove(`one-${index}`);
    await remove.accepted;
    deleted.push(await remove.done);
    await sleep(20);
  }
  return {
    'create p50 ms': round(percentile(created, 0.5)),
    'create p99 ms': round(percentile(created, 0.99)),
    'delete p50 ms': round(percentile(deleted, 0.5)),
    'delete p99 ms': round(percentile(deleted, 0.99)),
  };
}

async function steady(run: Run, ms: number): Promise<Figures> {
  await sleep(12_000); // until after the next comparison of all statuses
  await run.server?.ask();
  const before = cpuMsOf(pidOf(run));
  await sleep(ms);
  const cpuMs = cpuMsOf(pidOf(run)) - before;
  const asked = await run.server?.ask<Asked>();
  return {
    'RSS MiB': round(rssMiBOf(pidOf(run))),
    'CPU %': round((cpuMs / ms) * 100, 2),
    ...(asked && { asked: JSON.stringify(asked) }),
  };
}

/** Kills the agent and starts it again with all pods in place. */
async function restart(run: Run): Promise<Figures> {
  const { world, server } = run;
  const renewed = await world.renewTime();
  run.agent.kill('SIGKILL');
  await once(run.agent, 'exit');
  await server?.ask();
  const startedAt = performance.now();
  run.agent = startAgent(run);
  while ((await world.renewTime()) === renewed) await sleep(2);
  const leaseMs = performance.now() - startedAt;
  const { accepted, done } = world.create('after-restart');
  await accepted;
  await done;
  const readyMs = performance.now() - startedAt;
  await sleep(13_000);
  const asked = await server?.ask<Asked>();
  await world.remove('after-restart').done;
  const writes = Object.entries(asked ?? {}).filter(([what]) => /^(PATCH|PUT|DELETE|POST) pods/.test(what));
  return {
    'lease ms': round(leaseMs),
    'first new pod Ready ms': round(readyMs),
    'RSS MiB': round(rssMiBOf(pidOf(run))),
    ...(asked && {
      'writes to unchanged pods': total(Object.fromEntries(writes)),
      asked: JSON.stringify(asked),
    }),
  };
}

const print = (what: string, figures: Figures): void => {
  process.stdout.write(
    `${what.padEnd(28)} ${Object.entries(figures)
      .map(([key, value]) => `${key} ${value}`)
      .join('; ')}\n`,
  );
};

async function measure(pods: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'agent-bench-'));
  const server = serverDir === undefined ? new LineProcess('agent-server.ts', [dir, nodeName]) : undefined;
  await server?.read();
  const configs = serverDir ?? dir;
  const connection = await connectionFromKubeconfig(clock, join(configs, 'admin.kubeconfig'));
  const world = new World(
    createApiClient(connection, { clock, qps: 0, userAgent: 'bench-driver', connections: width }),
    nodeName,
    podOf,
  );
  await world.warmUp(width);
  const startedAt = performance.now();
  const setting = { world, server, configs, dir, pods };
  const run: Run = { ...setting, agent: startAgent(setting) };
  try {
    await world.nodeReady();
    print('exec → node Ready', { ms: round(performance.now() - startedAt) });
    await sleep(1500);
    print('one by one', await oneByOne(run, 30));
    print('idle', { 'RSS MiB': round(rssMiBOf(pidOf(run))) });
    const name = (index: number): string => `pod-${index}`;
    print(`create ${pods}`, await phase(run, pods, (index) => world.create(name(index))));
    print(`steady with ${pods}`, await steady(run, 10_000));
    const updated = Math.min(pods, 1000);
    print(
      `update ${updated}`,
      await phase(run, updated, (index) => world.update(name(index), 'example.com/app:2')),
    );
    print(`delete ${pods}`, await phase(run, pods, (index) => world.remove(name(index))));
    // a new process compiles its code first, so the same work costs more
    await phase(run, pods, (index) => world.create(name(index)));
    print('restart', await restart(run));
    print(`delete ${pods} after it`, await phase(run, pods, (index) => world.remove(name(index))));
  } finally {
    run.agent.kill(nodeFlags.length > 0 ? 'SIGTERM' : 'SIGKILL');
    if (run.agent.exitCode === null && run.agent.signalCode === null) await once(run.agent, 'exit');
    await world.close();
    server?.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

const counts = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number);
for (const pods of counts.length > 0 ? counts : [100, 1000, 5000, 10_000]) {
  process.stdout.write(`\n${pods} pods on one node\n`);
  await measure(pods);
}
