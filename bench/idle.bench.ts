/**
 * Measures what the controllers cost an idle `podtender up`: processes with all controllers and with none run side by side, and are left
 * alone. Aim: at most 10 MiB and 0.2 % of a processor more. Build first (`npm run build`), so that the bundle is measured.
 *
 * Arguments: `--pairs=3`, `--settle=60` (s before the measurement), `--seconds=90` (its length); others after `--` are passed to
 * `podtender up`, e.g. `-- --manifests DIR`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, podtender, round, rssMiBOf, upWords, wholeCpuMsOf } from './support/processes.ts';

const option = (name: string, otherwise: number): number =>
  Number(process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise);
const [pairs, settle, seconds] = [option('pairs', 3), option('settle', 60), option('seconds', 90)];
const split = process.argv.indexOf('--');
const more = split < 0 ? [] : process.argv.slice(split + 1);

const folder = mkdtempSync(join(tmpdir(), 'idle-bench-'));
const manifests = join(folder, 'none');
mkdirSync(manifests);

const lists = Array.from({ length: pairs }, () => ['*', 'none']).flat();
const children = lists.map((controllers, index) => {
  const child = podtender([
    ...upWords('idle', join(folder, String(index))),
    ...['--manifests', manifests, '--controllers', controllers, ...more],
  ]);
  child.stdout?.resume();
  return { controllers, child, pid: child.pid ?? 0 };
});
try {
  await sleep(settle * 1000);
  const before = children.map(({ pid }) => wholeCpuMsOf(pid));
  await sleep(seconds * 1000);
  const rows = children.map(({ controllers, pid }, index) => ({
    controllers,
    'RSS MiB': round(rssMiBOf(pid)),
    'CPU %': round((wholeCpuMsOf(pid) - (before[index] ?? 0)) / seconds / 10, 3),
  }));
  for (const { controllers, ...numbers } of rows)
    process.stdout.write(`  ${controllers.padEnd(5)} ${JSON.stringify(numbers)}\n`);
  const median = (controllers: string, name: 'RSS MiB' | 'CPU %'): number =>
    percentile(
      rows.filter((row) => row.controllers === controllers).map((row) => row[name]),
      0.5,
    );
  for (const name of ['RSS MiB', 'CPU %'] as const)
    process.stdout.write(
      `  ${name}, medians: ${median('*', name)} with controllers, ${median('none', name)} without, ${round(median('*', name) - median('none', name), 3)} more\n`,
    );
} finally {
  await Promise.all(
    children.map(async ({ child }) => {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGINT');
      await ended;
    }),
  );
  rmSync(folder, { recursive: true, force: true });
}
