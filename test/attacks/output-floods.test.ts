import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeBench, type Bench } from '../providers/process/harness.ts';
import { maxBacklogBytes } from '../../src/processes/log-pump.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(async () => {
  await bench.end();
});

/** What a container may take to its end, however it behaves, ms. */
const endMs = 8000;
const within = async <T>(ms: number, act: Promise<T>): Promise<T> => {
  const started = performance.now();
  const result = await act;
  expect(performance.now() - started).toBeLessThan(ms);
  return result;
};
const logBytes = (): number => statSync(join(bench.dir, 'logs/main/0.log')).size;

test('a hole in the output delays no end and fills no log', async () => {
  const id = await bench.run(['sh', '-c', 'echo before; truncate -s 1T /proc/self/fd/1; echo after; exit 3']);
  expect(await within(endMs, bench.exited(id))).toMatchObject({ exitCode: 3 });
  expect(logBytes()).toBeLessThan(3 * 1024 * 1024);
  expect(bench.log()).toMatch(/podtender: \d+ bytes of output were dropped/);
  expect(bench.log()).toContain('after\n');
});

test('small holes, again and again, become no log', async () => {
  const id = await bench.run([
    'sh',
    '-c',
    'for i in 1 2 3 4 5 6 7 8; do truncate -s +20M /proc/self/fd/1; done; echo over',
  ]);
  await within(endMs, bench.exited(id));
  expect(logBytes()).toBeLessThan(1024 * 1024);
  expect(bench.log()).toContain('over\n');
});

test('output that is cut goes on from its new beginning', async () => {
  const id = await bench.run([
    'sh',
    '-c',
    'echo one; echo two; sleep 0.3; truncate -s 0 /proc/self/fd/1; echo three; sleep 0.2',
  ]);
  await within(endMs, bench.exited(id));
  for (const word of ['one', 'two', 'three']) expect(bench.log()).toContain(`F ${word}\n`);
});

test('a flood is stopped in time, and what waits of it is bounded', async () => {
  const id = await bench.run(['sh', '-c', 'exec dd if=/dev/zero bs=1M count=2000 2>/dev/null']);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await within(
    endMs,
    bench.runtime.stopContainer({ containerId: id, timeout: 0 }).then(() => undefined),
  );
  await within(endMs, bench.exited(id));
  expect(logBytes()).toBeLessThan(2 * maxBacklogBytes);
});

test('folders that are too deep for any path are removed with their container', async () => {
  const perl = 'my $n = "x" x 200; for (1..100) { mkdir $n or die; chdir $n or die }';
  const id = await bench.run(['perl', '-e', perl]);
  await bench.exited(id);
  const dir = join(bench.dir, 'process/containers', id);
  await within(
    endMs,
    bench.runtime.removeContainer({ containerId: id }).then(() => undefined),
  );
  expect(existsSync(dir)).toBe(false);
});

test('thousands of files do not stop the agent', async () => {
  const id = await bench.run(['sh', '-c', 'i=0; while [ $i -lt 3000 ]; do : >f$i; i=$((i+1)); done']);
  await bench.exited(id);
  let turns = 0;
  const beat = setInterval(() => turns++, 1);
  await bench.runtime.removeContainer({ containerId: id });
  clearInterval(beat);
  expect(turns).toBeGreaterThan(0);
  expect(existsSync(join(bench.dir, 'process/containers', id))).toBe(false);
});
