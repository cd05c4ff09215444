/**
 * Measures simulated nodes: `podtender simulate` in a process of its own against an API server in this one. Aims: at most 40 KB per idle node,
 * growing in proportion; less CPU per pod than kwok (1.0 ms created).
 *
 * Arguments: runs as NODESxPODS, for example 1000x10 (the pods are those of each node); default 1000x0 1000x10 100x100. `--kubeconfig=FILE` uses
 * your own API server, whose nodes and pods of earlier runs must be gone. `--stages=NAME` has the pods played by stages. Runs without pods, such as
 * 250x0 500x0 1000x0, also tell how much more heap each node takes than in the run before.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedApiServer } from '../src/apiserver/index.ts';
import { podtender, round } from './support/processes.ts';
import { Profiler } from './support/profiles.ts';

interface Line {
  readonly type: string;
  readonly nodesReady: number;
  readonly podsReady: number;
  readonly cpuSeconds: number;
  readonly rssMiB: number;
}

const stages = process.argv.find((word) => word.startsWith('--stages='))?.slice('--stages='.length);
const own = process.argv.find((word) => word.startsWith('--kubeconfig='))?.slice('--kubeconfig='.length);
const runs = process.argv.slice(2).filter((word) => /^\d+x\d+$/.test(word));
const print = (what: string, numbers: Readonly<Record<string, number>>): void => {
  const text = Object.entries(numbers).map(([name, value]) => `${name} ${round(value, 2)}`);
  process.stdout.write(`  ${what.padEnd(24)} ${text.join(', ')}\n`);
};

/** How long the nodes are left alone to measure their heartbeats, s. */
const idleSeconds = 40;

const inspectorPort = 9322;
/** The last run without pods. */
let empty: { readonly nodes: number; readonly heapBytes: number } | undefined;

async function measure(nodes: number, pods: number, kubeconfig: string): Promise<void> {
  const args = [
    'simulate',
    '--nodes',
    nodes,
    '--pods-per-node',
    pods,
    '--kubeconfig',
    kubeconfig,
    '--output',
    'json',
    ...(stages === undefined ? [] : ['--stages', stages]),
  ];
  const startedAt = performance.now();
  const child = podtender(args.map(String), [`--inspect=127.0.0.1:${inspectorPort}`]);
  let last: Line | undefined;
  if (!child.stdout) throw new Error('the process has no output');
  createInterface({ input: child.stdout }).on('line', (line) => {
    const parsed = JSON.parse(line) as Line;
    if (parsed.type === 'progress') last = parsed;
  });
  const until = async (
    fits: (line: Line) => boolean,
  ): Promise<{ readonly line: Line; readonly seconds: number }> => {
    for (;;) {
      if (last && fits(last)) return { line: last, seconds: (performance.now() - startedAt) / 1000 };
      await sleep(50);
    }
  };
  const first = await until(() => true);
  const ready = await until(({ nodesReady }) => nodesReady >= nodes);
  print('nodes Ready', {
    'per second': nodes / ready.seconds,
    'ms CPU each': (1000 * (ready.line.cpuSeconds - first.line.cpuSeconds)) / nodes,
  });
  if (pods > 0) {
    const running = await until(({ podsReady }) => podsReady >= nodes * pods);
    const { line, seconds } = running;
    print('pods Ready', {
      'per second': (nodes * pods) / (seconds - ready.seconds),
      'ms CPU each': (1000 * (line.cpuSeconds - ready.line.cpuSeconds)) / (nodes * pods),
    });
  }
  await sleep(5000);
  const before = last;
  await sleep(idleSeconds * 1000);
  if (!before || !last) throw new Error('the process ended');
  const cpuMs = 1000 * (last.cpuSeconds - before.cpuSeconds);
  print('at rest', {
    'ms CPU per node and 10 s': cpuMs / nodes / (idleSeconds / 10),
    'CPU %': cpuMs / idleSeconds / 10,
    'RSS MiB': last.rssMiB,
  });
  const profiler = await Profiler.connect(inspectorPort);
  const heapBytes = await profiler.heapBytes();
  profiler.close();
  const more = pods === 0 && empty && (heapBytes - empty.heapBytes) / 1024 / (nodes - empty.nodes);
  print('heap', { MiB: heapBytes / 2 ** 20, ...(more && { 'KiB each further node': more }) });
  if (pods === 0) empty = { nodes, heapBytes };
  child.kill('SIGINT');
  await once(child, 'exit');
}

const dir = mkdtempSync(join(tmpdir(), 'bench-simulate-'));
for (const run of runs.length > 0 ? runs : ['1000x0', '1000x10', '100x100']) {
  const [nodes = 0, pods = 0] = run.split('x').map(Number);
  process.stdout.write(`\n${nodes} nodes, ${pods} pods each\n`);
  const server = own === undefined ? await EmbeddedApiServer.start() : undefined;
  const kubeconfig = own ?? join(dir, 'kubeconfig');
  if (server) writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 });
  await measure(nodes, pods, kubeconfig);
  await server?.stop();
}
rmSync(dir, { recursive: true, force: true });
