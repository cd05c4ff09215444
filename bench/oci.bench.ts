/**
 * Measures `podtender image pull`, with unpacking, beside `skopeo copy` and `umoci unpack`, from a registry on loopback, with the peak memory of each. Both take turns. Aims: no more
 * time than both together, and memory that does not grow with the layer.
 *
 * Skopeo and umoci are Debian's packages; without them there is nothing to compare with, and that is said. Arguments: `files` (many small ones), `large` (one layer of 512 MiB), default both;
 * `--rounds=N`: pulls of each, default 5.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../test/support/mounts.ts';
import type { ImageFacts } from './support/image-registry.ts';
import { LineProcess, percentile, round } from './support/processes.ts';

const parts = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const wants = (part: string): boolean => parts.length === 0 || parts.includes(part);
const numberOf = (option: string, otherwise: number): number =>
  Number(process.argv.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1) ?? otherwise);
const rounds = numberOf('--rounds', 5);
const root = join(import.meta.dirname, '..');
const median = (values: readonly number[]): number => percentile(values, 0.5);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What a command took. */
interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMiB: number;
}

/** Runs a command to its end. Its memory and CPU are those of the kernel's account of it, read while it runs. */
async function costOf(command: string, args: readonly string[]): Promise<Cost> {
  const startedAt = performance.now();
  const child = spawn(command, [...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  let [cpuMs, peakMiB] = [0, 0];
  const timer = setInterval(() => {
    try {
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      cpuMs = Math.max(cpuMs, (Number(stat[11]) + Number(stat[12])) * 10);
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
      peakMiB = Math.max(peakMiB, Number(peak ?? 0) / 1024);
    } catch {
      // it has ended
    }
  }, 20);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return { ms: performance.now() - startedAt, cpuMs, peakMiB };
}

const sumOf = (costs: readonly Cost[]): Cost => ({
  ms: costs.reduce((sum, { ms }) => sum + ms, 0),
  cpuMs: costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  peakMiB: Math.max(...costs.map(({ peakMiB }) => peakMiB)),
});

const program = join(root, 'bin/podtender.mjs');
const pullOurs = (ref: string, dir: string): Promise<Cost> =>
  costOf(process.execPath, [program, 'image', 'pull', '--data-dir', dir, ref]);

async function pullPeers(ref: string, dir: string): Promise<readonly Cost[]> {
  const layout = join(dir, 'layout');
  return [
    await costOf('skopeo', ['copy', '-q', '--src-tls-verify=false', `docker://${ref}`, `oci:${layout}:1`]),
    await costOf('umoci', ['--log=error', 'unpack', '--image', `${layout}:1`, join(dir, 'bundle')]),
  ];
}

const hasPeers = ['skopeo', 'umoci'].every((name) => spawnSync(name, ['--version']).status === 0);

const line = (who: string, costs: readonly Cost[]): void => {
  const of = (pick: (cost: Cost) => number): number => median(costs.map(pick));
  const all = costs.map(({ ms }) => round(ms / 1000, 2)).join(' ');
  say(
    `  ${who.padEnd(14)} ${round(
      of(({ ms }) => ms / 1000),
      2,
    )} s (${all}); CPU ${round(
      of(({ cpuMs }) => cpuMs / 1000),
      2,
    )} s; peak ${round(
      of(({ peakMiB }) => peakMiB),
      0,
    )} MiB`,
  );
};

async function pulls(kind: 'files' | 'large'): Promise<void> {
  const registry = new LineProcess('image-registry.ts', [kind]);
  const facts = await registry.read<ImageFacts>();
  const mib = (bytes: number): number => round(bytes / 2 ** 20, 0);
  say(
    `\npull and unpack: ${facts.layers} layers of ${mib(facts.packedBytes)} MiB, ${facts.files} files of ${mib(facts.bytes)} MiB; ${rounds} rounds, median (each)`,
  );
  if (!hasPeers) say('  skopeo or umoci is not installed: nothing to compare with');
  const ours: Cost[] = [];
  const peers: (readonly Cost[])[] = [];
  try {
    for (let turn = 0; turn < rounds; turn++) {
      const dir = mkdtempSync(join(tmpdir(), 'pt-oci-bench-'));
      try {
        ours.push(await pullOurs(facts.ref, join(dir, 'ours')));
        if (hasPeers) peers.push(await pullPeers(facts.ref, dir));
      } finally {
        removeFolder(dir);
      }
    }
  } finally {
    registry.stop();
  }
  line('podtender', ours);
  if (!hasPeers) return;
  line('skopeo + umoci', peers.map(sumOf));
  for (const [at, who] of ['skopeo', 'umoci'].entries())
    line(
      `  ${who}`,
      peers.flatMap((one) => one[at] ?? []),
    );
}

for (const kind of ['files', 'large'] as const) if (wants(kind)) await pulls(kind);
