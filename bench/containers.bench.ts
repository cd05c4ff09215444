/**
 * Measures the cost of a real pod: `podtender run --provider cri` with its own containerd, compared with the same CRI calls, with the same
 * configuration and parallelism, made without an agent in a second containerd. Both take turns, so that other load on the machine affects
 * both alike. Aims: one pod and many pods Ready and gone at most 10 % later than the bare calls at p50; no more memory than the Go kubelet
 * (86, 101, 116 MB with 10, 50, 100 pods).
 *
 * Needs root and containerd. Arguments: the number of pods of each run; default 10 50 100. `--rounds=N`: turns of each, default 3;
 * `--lone=N`: pods one at a time, default 15; `--cpu-prof` options profile the agent.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient } from '../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import type { Pod } from '../src/kube/types.ts';
import { connectCri, type CriRuntime } from '../src/providers/cri/index.ts';
import {
  type Containerd,
  removeEmptyCgroups,
  startContainerd,
  whyNoContainerd,
} from '../test/support/containerd.ts';
import { removeFolder } from '../test/support/mounts.ts';
import { type Asked, askedOf, BareCalls } from './support/bare-calls.ts';
import {
  cpuMsOf,
  inParallel,
  LineProcess,
  percentile,
  podtender,
  round,
  rssMiBOf,
  wholeCpuMsOf,
} from './support/processes.ts';
import { type Act, World } from './support/world.ts';

const nodeName = 'bench';
const image = 'localhost/busybox:1';
const command = ['sleep', '3600'];
const cgroup = `pt-bench-${process.pid}`;
const nodeFlags = process.argv.filter((word) => word.startsWith('--cpu-prof'));
const numberOf = (option: string, otherwise: number): number =>
  Number(process.argv.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1) ?? otherwise);
const rounds = numberOf('--rounds', 3);
/** How long the agent is measured at rest with all pods, ms: long enough for the memory of the burst to be returned to the system. */
const restMs = 15_000;
const lonePods = numberOf('--lone', 15);

const podOf = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'bench' } },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [{ name: 'main', image, command }],
  },
});

/** The times of one turn, ms each. */
interface Sample {
  readonly create: readonly number[];
  readonly remove: readonly number[];
  /** The time from the first call to the last response. */
  readonly createAll: number;
  readonly removeAll: number;
  /** The CPU time of containerd itself, without its shims. */
  readonly runtimeCreate: number;
  readonly runtimeRemove: number;
}

/** A containerd and its client. The bare calls have a separate one, because an agent removes sandboxes that it does not know. */
class Machine {
  readonly containerd: Containerd;
  readonly runtime: CriRuntime;
  readonly pid: number;

  constructor(containerd: Containerd) {
    this.containerd = containerd;
    this.runtime = connectCri(containerd.socket, { clock });
    this.pid = containerd.pid;
  }

  /** Removes every remaining sandbox, as garbage collection would do later. */
  async sweep(): Promise<void> {
    const { items = [] } = await this.runtime.listPodSandbox({});
    await inParallel(items.length, 8, async (index) => {
      const podSandboxId = items[index]?.id ?? '';
      // the agent's garbage collection may be faster
      await this.runtime.stopPodSandbox({ podSandboxId }).catch(() => undefined);
      await this.runtime.removePodSandbox({ podSandboxId }).catch(() => undefined);
    });
  }

  async stop(): Promise<void> {
    await this.runtime.close();
    await this.containerd.stop();
  }
}

interface Run {
  /** The containerd of the agent's pods. */
  readonly node: Machine;
  readonly floor: Machine;
  readonly bare: BareCalls;
  readonly world: World;
  readonly agent: ChildProcess;
}

const pidOf = ({ agent }: Run): number => agent.pid ?? 0;

type Phase = readonly [latencies: readonly number[], allMs: number, runtimeCpuMs: number];

async function phase(
  machine: Machine,
  count: number,
  act: (index: number) => Promise<number>,
): Promise<Phase> {
  const cpuBefore = wholeCpuMsOf(machine.pid);
  const startedAt = performance.now();
  const latencies = await Promise.all(Array.from({ length: count }, (_, index) => act(index)));
  return [latencies, performance.now() - startedAt, wholeCpuMsOf(machine.pid) - cpuBefore];
}

async function sample(
  machine: Machine,
  count: number,
  [create, remove]: readonly [(index: number) => Promise<number>, (index: number) => Promise<number>],
  between: () => Promise<void> = async () => undefined,
): Promise<Sample> {
  const [created, createAll, runtimeCreate] = await phase(machine, count, create);
  await sleep(2000);
  await between();
  const [removed, removeAll, runtimeRemove] = await phase(machine, count, remove);
  await sleep(1000);
  await machine.sweep();
  return { create: created, remove: removed, createAll, removeAll, runtimeCreate, runtimeRemove };
}

const done = async ({ accepted, done: ended }: Act): Promise<number> => {
  await accepted;
  return ended;
};

const print = (what: string, figures: Readonly<Record<string, number | string>>): void => {
  const words = Object.entries(figures).map(([key, value]) => `${key} ${value}`);
  process.stdout.write(`${what.padEnd(14)} ${words.join('; ')}\n`);
};

function figures(samples: readonly Sample[], count: number): Readonly<Record<string, number | string>> {
  const [create, remove] = [samples.flatMap((one) => one.create), samples.flatMap((one) => one.remove)];
  const sum = (of: (one: Sample) => number): number => samples.reduce((total, one) => total + of(one), 0);
  const perPod = (of: (one: Sample) => number): number => round(sum(of) / samples.length / count, 1);
  const perSecond = (of: (one: Sample) => number): number =>
    round((count * samples.length * 1000) / sum(of), 1);
  return {
    'create p50 ms': round(percentile(create, 0.5)),
    'p99 ms': round(percentile(create, 0.99)),
    'per second': perSecond((one) => one.createAll),
    'delete p50 ms': round(percentile(remove, 0.5)),
    'p99 ms ': round(percentile(remove, 0.99)),
    'per second ': perSecond((one) => one.removeAll),
    'containerd CPU ms per pod created': perPod((one) => one.runtimeCreate),
    deleted: perPod((one) => one.runtimeRemove),
  };
}

const ratio = (
  agent: readonly Sample[],
  bare: readonly Sample[],
  of: (one: Sample) => readonly number[],
): string => {
  const [ours, floor] = [percentile(agent.flatMap(of), 0.5), percentile(bare.flatMap(of), 0.5)];
  return `${((ours / floor - 1) * 100).toFixed(0)} %`;
};

/** Runs many pods at once, by bare calls and by the agent in turns. */
async function many(run: Run, count: number): Promise<void> {
  const [agents, bares]: [Sample[], Sample[]] = [[], []];
  let agentCpuMs = 0;
  let steadyMs = 0;
  const rss: number[] = [];
  const rssAtRest: number[] = [];
  for (let turn = 0; turn < rounds; turn++) {
    const bareName = (index: number): string => `bare-${turn}-${index}`;
    const bare = [
      (i: number) => run.bare.create(bareName(i)),
      (i: number) => run.bare.remove(bareName(i)),
    ] as const;
    bares.push(await sample(run.floor, count, bare));
    const name = (index: number): string => `pod-${count}-${turn}-${index}`;
    const acts = [
      (i: number) => done(run.world.create(name(i))),
      (i: number) => done(run.world.remove(name(i))),
    ] as const;
    const before = cpuMsOf(pidOf(run));
    let rest = 0;
    agents.push(
      await sample(run.node, count, acts, async () => {
        rss.push(rssMiBOf(pidOf(run)));
        const restsFrom = cpuMsOf(pidOf(run));
        await sleep(restMs);
        rest += cpuMsOf(pidOf(run)) - restsFrom;
        rssAtRest.push(rssMiBOf(pidOf(run)));
      }),
    );
    agentCpuMs += cpuMsOf(pidOf(run)) - before - rest;
    steadyMs += rest;
  }
  print('bare', figures(bares, count));
  print('agent', figures(agents, count));
  print('agent', {
    'over bare at p50: create': ratio(agents, bares, (one) => one.create),
    delete: ratio(agents, bares, (one) => one.remove),
    'CPU ms per pod created and deleted': round(agentCpuMs / rounds / count, 1),
    'CPU % at rest': round((steadyMs / rounds / restMs) * 100, 2),
    'RSS MiB at once': rss.map((mib) => round(mib, 0)).join(' '),
    'at rest': rssAtRest.map((mib) => round(mib, 0)).join(' '),
    load: loadavg()
      .map((load) => round(load))
      .join(' '),
  });
}

/** Runs one pod at a time, by bare calls and by the agent in turns. */
async function single(run: Run, times: number): Promise<void> {
  const of = { agent: [[], []] as [number[], number[]], bare: [[], []] as [number[], number[]] };
  for (let turn = 0; turn < times; turn++) {
    of.bare[0].push(await run.bare.create(`lone-${turn}`));
    await sleep(100);
    of.bare[1].push(await run.bare.remove(`lone-${turn}`));
    await sleep(100);
    of.agent[0].push(await done(run.world.create(`one-${turn}`)));
    await sleep(100 + Math.random() * 1000); // at a random time between two relists
    of.agent[1].push(await done(run.world.remove(`one-${turn}`)));
    await sleep(100 + Math.random() * 1000);
  }
  for (const [who, [create, remove]] of Object.entries(of))
    print(`one, ${who}`, {
      'create p50 ms': round(percentile(create, 0.5)),
      'p99 ms': round(percentile(create, 0.99)),
      'delete p50 ms': round(percentile(remove, 0.5)),
      'p99 ms ': round(percentile(remove, 0.99)),
    });
  const median = (list: readonly number[]): number => percentile(list, 0.5);
  print('one, over bare', {
    create: `${((median(of.agent[0]) / median(of.bare[0]) - 1) * 100).toFixed(0)} %`,
    delete: `${((median(of.agent[1]) / median(of.bare[1]) - 1) * 100).toFixed(0)} %`,
  });
  await Promise.all([run.node.sweep(), run.floor.sweep()]);
}

/** Measures the lists of a relist with this number of pods. */
async function relist({ runtime }: Machine, pods: number): Promise<void> {
  const times: number[] = [];
  for (let turn = 0; turn < 30; turn++) {
    const startedAt = performance.now();
    await Promise.all([runtime.listPodSandbox({}), runtime.listContainers({})]);
    times.push(performance.now() - startedAt);
  }
  print(`relist of ${pods}`, {
    'p50 ms': round(percentile(times, 0.5), 2),
    'p99 ms': round(percentile(times, 0.99), 2),
  });
}

/** Lets the agent create and delete one pod. @returns the requests that it made to the runtime */
async function firstPod(world: World, node: Machine): Promise<Asked> {
  await done(world.create('first'));
  const requests = await askedOf(node.runtime);
  await done(world.remove('first'));
  await node.sweep();
  return requests;
}

async function measure(counts: readonly number[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'pt-bench-'));
  const [node, floor] = [new Machine(await startContainerd()), new Machine(await startContainerd())];
  const server = new LineProcess('agent-server.ts', [dir, nodeName]);
  await server.read();
  const connection = await connectionFromKubeconfig(clock, join(dir, 'admin.kubeconfig'));
  const client = createApiClient(connection, { clock, qps: 0, userAgent: 'bench-driver', connections: 32 });
  const world = new World(client, nodeName, podOf);
  await world.warmUp(8);
  const words = [
    'run',
    '--provider=cri',
    '--node-name',
    nodeName,
    '--kubeconfig',
    join(dir, 'node.kubeconfig'),
  ];
  const settings = [
    `--container-runtime-endpoint=${node.containerd.socket}`,
    `--cgroup-root=/${cgroup}`,
    `--pod-logs-dir=${join(dir, 'logs')}`,
    '--port=20250',
    '--healthz-port=0',
    '--fail-cgroupv1=false',
    '--max-pods=250',
    '--kube-api-qps=100000',
    '--kube-api-burst=100000',
    // a node without cluster DNS logs a warning for every pod
    '--cluster-dns=10.96.0.10',
    '--cluster-domain=cluster.local',
  ];
  const agent = podtender([...words, '--data-dir', join(dir, 'agent'), ...settings], nodeFlags);
  try {
    await world.nodeReady();
    await sleep(2000);
    print('idle', { 'RSS MiB': round(rssMiBOf(agent.pid ?? 0), 0) });
    const bare = new BareCalls(
      floor.runtime,
      await firstPod(world, node),
      `/${cgroup}/bare`,
      join(dir, 'bare'),
    );
    const run: Run = { node, floor, bare, world, agent };
    if (lonePods > 0) await single(run, lonePods);
    for (const count of counts) {
      process.stdout.write(`\n${count} pods on one node, ${rounds} rounds\n`);
      await many(run, count);
      await phase(floor, count, (index) => bare.create(`relist-${index}`));
      await relist(floor, count);
      await floor.sweep();
    }
  } finally {
    agent.kill(nodeFlags.length > 0 ? 'SIGTERM' : 'SIGKILL');
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
    await world.close();
    server.stop();
    await node.stop();
    await floor.stop();
    removeEmptyCgroups(cgroup);
    removeFolder(dir);
  }
}

const why = whyNoContainerd();
if (why !== undefined) process.stdout.write(`skipped: ${why}; this bench runs real containers\n`);
else {
  const counts = process.argv.slice(2).filter((word) => /^\d+$/.test(word));
  await measure(counts.length > 0 ? counts.map(Number) : [10, 50, 100]);
}
