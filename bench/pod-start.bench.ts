/**
 * Measures pods of one container from creation to Running and from deletion to their end, and the CPU of each: `--provider oci` beside
 * `--provider cri` with a containerd of its own, one image, by turns of the same kind of node. There are no aims: the two do different things.
 *
 * Needs root and containerd. Arguments: pods at a time, default 1 10; `--rounds=N`: turns of each, default 5; `--isolation=KIND`: of oci,
 * default: the best one.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { createApiClient } from '../src/api/rest/http-client.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import type { Pod } from '../src/kube/types.ts';
import { type Containerd, startContainerd, whyNoContainerd } from '../test/support/containerd.ts';
import { busyboxImage, layoutOf } from '../test/support/images.ts';
import { removeFolder } from '../test/support/mounts.ts';
import { CpuGroup } from './support/cpu-group.ts';
import { LineProcess, percentile, podtender, round, wholeCpuMsOf } from './support/processes.ts';
import { World } from './support/world.ts';

const image = 'localhost/busybox:1';
const optionOf = (option: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1);
const rounds = Number(optionOf('--rounds') ?? 5);
const isolation = optionOf('--isolation');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const podOf =
  (nodeName: string) =>
  (name: string): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: [{ name: 'main', image, command: ['sleep', '3600'] }],
    },
  });

/** A node with its own API server. */
interface Bed {
  readonly who: string;
  readonly world: World;
  readonly agent: ChildProcess;
  /** The CPU that all of the node took so far, its containers among it, ms. */
  readonly cpuMs: () => { readonly agent: number; readonly others: number };
  /** Ends the agent. @returns its group, which may be removed once its containers have ended */
  stop(): Promise<CpuGroup>;
}

interface Place {
  readonly dir: string;
  readonly port: number;
}

async function startBed(
  who: 'oci' | 'cri',
  { dir, port }: Place,
  containerd: Containerd | undefined,
): Promise<Bed> {
  mkdirSync(dir);
  const server = new LineProcess('agent-server.ts', [dir, who]);
  await server.read();
  const connection = await connectionFromKubeconfig(clock, join(dir, 'admin.kubeconfig'));
  const client = createApiClient(connection, { clock, qps: 0, userAgent: 'bench-driver', connections: 8 });
  const world = new World(client, who, podOf(who));
  await world.warmUp(4);
  const data = join(dir, 'agent');
  const name = `pt-start-${who}-${process.pid}`;
  const group = new CpuGroup(name);
  if (!containerd) await importImage(dir, data);
  const own = containerd
    ? [`--container-runtime-endpoint=${containerd.socket}`, `--cgroup-root=/${name}`]
    : isolation === undefined
      ? []
      : [`--oci-isolation=${isolation}`];
  const agent = podtender([
    ...['run', `--provider=${who}`, '--node-name', who, '--kubeconfig', join(dir, 'node.kubeconfig')],
    ...['--data-dir', data, `--port=${port}`, '--healthz-port=0', '--fail-cgroupv1=false'],
    ...['--kube-api-qps=10000', '--kube-api-burst=10000', `--pod-logs-dir=${join(dir, 'logs')}`],
    ...['--cluster-dns=10.96.0.10', '--cluster-domain=cluster.local', '--log-level=error', ...own],
  ]);
  const pid = agent.pid ?? 0;
  for (const one of containerd ? [pid, containerd.pid] : [pid]) group.add(one);
  await world.nodeReady();
  return {
    ...{ who, world, agent },
    cpuMs: () => {
      const own = wholeCpuMsOf(pid);
      return { agent: own, others: group.usedMs() - own };
    },
    async stop() {
      agent.kill('SIGTERM');
      if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
      await world.close();
      server.stop();
      return group;
    },
  };
}

async function importImage(dir: string, data: string): Promise<void> {
  const archive = join(dir, 'image.tar');
  writeFileSync(archive, layoutOf([busyboxImage(image)]));
  const [code] = (await once(podtender(['image', 'import', '--data-dir', data, archive]), 'exit')) as [
    number,
  ];
  if (code !== 0) throw new Error(`podtender image import ended with ${code}`);
}

/** The times of one turn, ms, and the CPU of its pods. */
interface Turn {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly agentMs: number;
  readonly othersMs: number;
}

async function turnOf({ who, world, cpuMs }: Bed, count: number, turn: number): Promise<Turn> {
  const names = Array.from({ length: count }, (_, index) => `${who}-${count}-${turn}-${index}`);
  const before = cpuMs();
  const starts = await Promise.all(
    names.map(async (name) => {
      const { accepted, done } = world.create(name);
      await accepted;
      return done;
    }),
  );
  await sleep(500);
  const ends = await Promise.all(
    names.map(async (name) => {
      const { accepted, done } = world.remove(name);
      await accepted;
      return done;
    }),
  );
  await sleep(1500);
  const after = cpuMs();
  return {
    ...{ starts, ends },
    agentMs: after.agent - before.agent,
    othersMs: after.others - before.others,
  };
}

async function measure(counts: readonly number[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'pt-start-'));
  const containerd = await startContainerd();
  const beds: Bed[] = [];
  try {
    beds.push(await startBed('oci', { dir: join(dir, 'oci'), port: 20260 }, undefined));
    beds.push(await startBed('cri', { dir: join(dir, 'cri'), port: 20261 }, containerd));
    for (const bed of beds) await turnOf(bed, 2, -1);
    for (const count of counts) {
      say(
        `\n${count} at a time, ${rounds} rounds by turns, load ${loadavg()
          .map((one) => round(one))
          .join(' ')}`,
      );
      const turns = new Map<Bed, Turn[]>(beds.map((bed) => [bed, []]));
      for (let turn = 0; turn < rounds; turn++)
        for (const bed of beds) turns.get(bed)?.push(await turnOf(bed, count, turn));
      for (const [{ who }, all] of turns) report(who, all, count);
    }
  } finally {
    const groups: CpuGroup[] = [];
    for (const bed of beds) groups.push(await bed.stop());
    await containerd.stop();
    for (const group of groups) group.remove();
    removeFolder(dir);
  }
}

function report(who: string, turns: readonly Turn[], count: number): void {
  const all = (of: (turn: Turn) => readonly number[]): readonly number[] => turns.flatMap(of);
  const perPod = (of: (turn: Turn) => number): number =>
    round(turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length / count, 0);
  const starts = all((turn) => turn.starts);
  say(
    `${who}  created → Ready p50 ${round(percentile(starts, 0.5), 0)} ms, p99 ${round(percentile(starts, 0.99), 0)} ms; ` +
      `deleted → gone p50 ${round(
        percentile(
          all((turn) => turn.ends),
          0.5,
        ),
        0,
      )} ms; CPU per pod: agent ${perPod((turn) => turn.agentMs)} ms, ` +
      `other processes ${perPod((turn) => turn.othersMs)} ms`,
  );
}

const why = whyNoContainerd();
if (why !== undefined) say(`skipped: ${why}; this bench runs real containers`);
else {
  const counts = process.argv.slice(2).filter((word) => /^\d+$/.test(word));
  await measure(counts.length > 0 ? counts.map(Number) : [1, 10]);
}
