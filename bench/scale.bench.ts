/**
 * Measures what pods on simulated nodes cost their agent, step by step: nodes registered, pods created, updated and deleted, by this process as the
 * client. The CPU time is that of the agent alone. A step on a busy machine takes longer and has more heartbeats of the nodes in it: the last lines have
 * the steps without them, by what the agent takes at rest. Its resident memory is read after each step. The API server is your own, best a real one, without
 * nodes and pods of earlier runs.
 *
 * Arguments: `--kubeconfig=FILE`, and runs as NODESxPODS (pods of each node), by default 1000x10. `--pid=PID` measures another program that plays all
 * nodes of the cluster; this process then creates the Nodes. `--stages=NAME` has
 * the pods played by stages, such as `fast`, instead of the kubelets. `--profile=DIR` writes a CPU profile of each step, which makes the agent slower.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Informer } from '../src/api/cache/informer.ts';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { ApiError } from '../src/api/client.ts';
import { nodeResource, podResource } from '../src/api/resources.ts';
import { createApiClient } from '../src/api/rest/http-client.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import { silentLogger as logger } from '../src/base/logger.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Node, Pod } from '../src/kube/types.ts';
import { loadPod } from '../src/simulate/load.ts';
import { nodeIsReady, podIsReady } from '../src/simulate/tally.ts';
import { inParallel, podtender, round, rssMiBOf, wholeCpuMsOf } from './support/processes.ts';
import { Profiler } from './support/profiles.ts';

const option = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const kubeconfig = option('kubeconfig');
const otherPid = option('pid');
const stages = option('stages');
const profiles = option('profile');
const inspectorPort = 9321;
let profiler: Profiler | undefined;
if (kubeconfig === undefined) throw new Error('--kubeconfig=FILE is required');

/** Requests of this process at a time. */
const width = 32;

/** How long the agent is left alone at the end of a step, so that what it does later counts as well, ms. */
const quietMs = 3000;

/** How long the agent is measured at rest, ms. */
const restMs = 20_000;

interface Step {
  readonly what: string;
  readonly count: number;
  readonly cpuMs: number;
  readonly elapsedMs: number;
}

let steps: Step[] = [];

const client = createApiClient(await connectionFromKubeconfig(clock, kubeconfig), {
  ...{ clock, logger, qps: 0, connections: width + 4 },
});
const stop = new AbortController();
const nodes = new Informer<Node>({ client, clock, logger, random }, nodeResource);
const pods = new Informer<Pod>({ client, clock, logger, random }, podResource);
const running = [nodes.run(stop.signal), pods.run(stop.signal)];
await Promise.all([nodes.waitSynced(stop.signal), pods.waitSynced(stop.signal)]);

const places = { namespace: 'default', image: 'registry.k8s.io/pause:3.10' };

/** Repeats a call for as long as the API server of a busy machine does not answer it; one that was carried out all the same is done. */
async function patiently(call: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++)
    try {
      await call();
      return;
    } catch (reason) {
      const status = reason instanceof ApiError ? reason.status : undefined;
      if (attempt > 0 && (status === 404 || status === 409)) return;
      if (status !== 0) throw reason;
    }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(25);
}

/** Measures a step of `count` objects. */
async function step(
  what: string,
  { pid, count }: { readonly pid: number; readonly count: number },
  act: () => Promise<void>,
): Promise<void> {
  await profiler?.start();
  const [cpuMs, startedAt] = [wholeCpuMsOf(pid), performance.now()];
  await act();
  const seconds = (performance.now() - startedAt) / 1000;
  await sleep(quietMs);
  const took = { cpuMs: wholeCpuMsOf(pid) - cpuMs, elapsedMs: performance.now() - startedAt };
  steps.push({ what, count, ...took });
  const numbers = {
    'per second': count / seconds,
    'ms CPU each': took.cpuMs / count,
    'RSS MiB': rssMiBOf(pid),
    'peak MiB': Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
  };
  const text = Object.entries(numbers).map(([name, value]) => `${name} ${round(value, 2)}`);
  process.stdout.write(`  ${what.padEnd(10)} ${text.join(', ')}\n`);
  await profiler?.stop(`${profiles}/${what}.cpuprofile`);
}

const nodeNamed = (name: string): Node => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
  status: {
    allocatable: { cpu: '32', memory: '256Gi', pods: '110' },
    capacity: { cpu: '32', memory: '256Gi', pods: '110' },
  },
});

async function measure(nodeCount: number, podsPerNode: number): Promise<void> {
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
  const child =
    otherPid === undefined
      ? podtender(
          [
            ...['simulate', '--nodes', String(nodeCount), '--kubeconfig', String(kubeconfig)],
            ...['--output', 'json', ...(stages === undefined ? [] : ['--stages', stages])],
          ],
          profiles === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`],
        )
      : undefined;
  // a bench that fails leaves nothing behind
  process.once('exit', () => child?.kill('SIGKILL'));
  const pid = child?.pid ?? Number(otherPid);
  steps = [];
  if (profiles !== undefined) profiler = await Profiler.connect(inspectorPort);
  // a new process starts up, and says so before its nodes register
  if (child?.stdout) await once(child.stdout, 'data');
  child?.stdout?.resume();
  await step('nodes', { pid, count: nodeCount }, async () => {
    if (!child)
      await inParallel(nodeCount, width, async (index) => {
        await patiently(() => client.create(nodeResource, nodeNamed(names[index] ?? '')));
      });
    await until(() => nodes.store.list().filter(nodeIsReady).length >= nodeCount);
  });
  const all = Array.from({ length: podsPerNode }, (_, number) =>
    names.map((name) => loadPod(places, name, number)),
  ).flat();
  const count = all.length;
  const each = (act: (pod: Pod) => Promise<unknown>): Promise<void> =>
    inParallel(count, width, async (index) => {
      await patiently(() => act(all[index] ?? {}));
    });
  const refOf = ({ metadata }: Pod): { readonly name: string; readonly namespace: string } => ({
    name: metadata?.name ?? '',
    namespace: places.namespace,
  });
  let ready = 0;
  const counting = pods.addHandler({
    added: (pod) => {
      ready += Number(podIsReady(pod));
    },
    updated: (old, pod) => {
      ready += Number(podIsReady(pod)) - Number(podIsReady(old));
    },
  });
  await step('created', { pid, count }, async () => {
    await each((pod) => client.create(podResource, pod));
    await until(() => ready >= count);
  });
  counting.remove();
  await step('updated', { pid, count }, () =>
    each((pod) =>
      client.patch(podResource, refOf(pod), {
        type: 'merge',
        body: { metadata: { labels: { round: '2' } } },
      }),
    ),
  );
  await step('deleted', { pid, count }, async () => {
    await each((pod) => client.delete(podResource, refOf(pod), { discardAnswer: true }));
    await until(() => pods.store.list().length === 0);
  });
  profiler?.close();
  const [cpuMs, from] = [wholeCpuMsOf(pid), performance.now()];
  await sleep(restMs);
  const atRest = (wholeCpuMsOf(pid) - cpuMs) / (performance.now() - from);
  process.stdout.write(`  at rest    ${round(1000 * atRest, 1)} ms CPU each second; without that:\n`);
  for (const one of steps) {
    const each = (one.cpuMs - atRest * one.elapsedMs) / one.count;
    process.stdout.write(`  ${one.what.padEnd(10)} ms CPU each ${round(each, 2)}\n`);
  }
  if (child) {
    child.kill('SIGINT');
    await once(child, 'exit');
  }
  await inParallel(nodeCount, width, async (index) => {
    await client.delete(nodeResource, { name: names[index] ?? '' }).catch(() => undefined);
  });
}

const runs = process.argv.slice(2).filter((word) => /^\d+x\d+$/.test(word));
for (const run of runs.length > 0 ? runs : ['1000x10']) {
  const [nodeCount = 0, podsPerNode = 0] = run.split('x').map(Number);
  process.stdout.write(`\n${nodeCount} nodes, ${podsPerNode} pods each\n`);
  await measure(nodeCount, podsPerNode);
}
stop.abort();
await Promise.all(running);
await client.close();
