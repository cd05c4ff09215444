/**
 * Measures the start of `podtender up`: from exec until the API server serves and until the first static pod is started, with the built
 * command. Aim: under 1 s, of which the start of the process takes less than 300 ms. Argument: the number of starts; default 5.
 */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuMsOf, percentile, podtender, round, rssMiBOf, upWords } from './support/processes.ts';

interface Start {
  readonly listeningMs: number;
  readonly runningMs: number;
  readonly cpuMs: number;
  readonly rssMiB: number;
}

const manifest = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'first', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'local', command: ['/bin/sleep', '1000'] }] },
});

async function version(): Promise<number> {
  const startedAt = performance.now();
  await once(podtender(['--version']), 'exit');
  return performance.now() - startedAt;
}

async function start(): Promise<Start> {
  const dir = await mkdtemp(join(tmpdir(), 'startup-bench-'));
  await mkdir(join(dir, 'manifests'));
  await writeFile(join(dir, 'manifests', 'first.json'), manifest);
  const startedAt = performance.now();
  const child = podtender([...upWords('bench', join(dir, 'data')), '--manifests', join(dir, 'manifests')]);
  try {
    if (!child.stdout) throw new Error('the process has no output');
    let listeningMs = Number.NaN;
    const timer = setTimeout(() => child.kill(), 30_000);
    for await (const line of createInterface({ input: child.stdout })) {
      if (Number.isNaN(listeningMs)) listeningMs = performance.now() - startedAt;
      if (line.includes('"first') && line.includes('"reason":"Started"')) break;
    }
    clearTimeout(timer);
    const pid = child.pid ?? 0;
    return {
      listeningMs,
      runningMs: performance.now() - startedAt,
      cpuMs: cpuMsOf(pid),
      rssMiB: rssMiBOf(pid),
    };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await rm(dir, { recursive: true, force: true });
  }
}

const count = Number(process.argv[2] ?? 5);
const versions: number[] = [];
const starts: Start[] = [];
for (let index = 0; index < count; index++) {
  versions.push(await version());
  starts.push(await start());
}
const median = (values: readonly number[]): number => round(percentile(values, 0.5));
process.stdout.write(
  `--version ${median(versions)} ms; up: serving after ${median(starts.map((one) => one.listeningMs))} ms, first static pod started after ` +
    `${median(starts.map((one) => one.runningMs))} ms; CPU ${median(starts.map((one) => one.cpuMs))} ms, RSS ${median(starts.map((one) => one.rssMiB))} MiB\n`,
);
