import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Pod } from '../../src/kube/types.ts';
import { admitProcessPod } from '../../src/providers/process/admission.ts';
import { convertOutput, maxLineBytes } from '../../src/processes/cri-log.ts';
import { findImage, imageTable } from '../../src/providers/process/images.ts';
import { parseStat } from '../../src/processes/proc.ts';
import { signalNumber } from '../../src/processes/signals.ts';
import { Signal } from '../../src/provider/cri-messages.ts';
import { makeBench, type Bench } from '../providers/process/harness.ts';

describe('raw output as CRI log lines', () => {
  const text = (chunk: string, final = false): readonly [string, number] => {
    const { log, consumed } = convertOutput(Buffer.from(chunk), 'stdout', 0, final);
    return [log.toString().replaceAll('1970-01-01T00:00:00.000Z stdout ', ''), consumed];
  };
  test.for<readonly [string, boolean, string, number]>([
    ['a\nb\n', false, 'F a\nF b\n', 4],
    ['a\nb', false, 'F a\n', 2],
    ['a\nb', true, 'F a\nP b\n', 3],
    ['\n', false, 'F \n', 1],
    ['', true, '', 0],
  ])('%j (final: %s) becomes %j', ([chunk, final, log, consumed]) => {
    expect(text(chunk, final)).toEqual([log, consumed]);
  });

  test('a line that is too long becomes several, all but the last partial', () => {
    const long = 'x'.repeat(maxLineBytes * 2 + 1);
    const [log, consumed] = text(`${long}\n`);
    expect(log.split('\n').map((line) => [line[0], line.length - 2])).toEqual([
      ['P', maxLineBytes],
      ['P', maxLineBytes],
      ['F', 1],
      [undefined, -2],
    ]);
    expect(consumed).toBe(long.length + 1);
  });
});

test.for<readonly [string, string | undefined]>([
  ['busybox', 'busybox'],
  ['busybox:1.36', 'busybox'],
  ['docker.io/library/busybox@sha256:abc', 'busybox'],
  ['registry.k8s.io/pause:3.10', 'pause'],
  ['localhost:5000/busybox', undefined],
  ['nginx', undefined],
])('image %s is the host image %s', ([reference, name]) => {
  const table = imageTable('/usr/bin/node');
  expect(findImage(table, reference)).toBe(name === undefined ? undefined : table.get(name));
});

test('settings add images and take defaults away', () => {
  const table = imageTable('/n', { nginx: { cmd: ['/usr/sbin/nginx'] }, node: null });
  expect([table.has('nginx'), table.has('node')]).toEqual([true, false]);
});

test('a program may have any name in /proc/PID/stat', () => {
  const line = `7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 99 0 0`;
  expect(parseStat(line)).toEqual({
    pid: 7,
    state: 'S',
    processGroup: 7,
    session: 7,
    cpuTicks: 10,
    startTicks: 99,
  });
  expect(parseStat('garbage')).toBeUndefined();
});

test.for<readonly [keyof typeof Signal, number]>([
  ['RUNTIME_DEFAULT', 15],
  ['SIGQUIT', 3],
  ['SIGCLD', 17],
  ['SIGRTMIN', 34],
  ['SIGRTMINPLUS3', 37],
  ['SIGRTMAXMINUS1', 63],
  ['SIGRTMAX', 64],
])('%s is signal %i', ([name, number]) => {
  expect(signalNumber(Signal[name])).toBe(number);
});

test.for(readdirSync('examples/manifests'))('the example %s is admitted without a warning', (file) => {
  const pod = parse(readFileSync(join('examples/manifests', file), 'utf8')) as Pod;
  expect(admitProcessPod(pod, [], { images: imageTable('/n'), uid: 1000, gid: 1000 })).toEqual({
    admit: true,
  });
});

describe('with real processes', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await makeBench();
  });
  afterEach(async () => {
    await bench.end();
  });

  const saysOneThenTwo = ['sh', '-c', 'trap "echo two; exit 0" TERM; echo one; while :; do sleep 0.05; done'];

  test('a log goes on in a new file after a rotation, without losing a line', async () => {
    const id = await bench.run(saysOneThenTwo);
    await bench.says(id, 'one');
    const path = join(bench.dir, 'logs/main/0.log');
    renameSync(path, `${path}.1`);
    await bench.runtime.reopenContainerLog({ containerId: id });
    await bench.runtime.stopContainer({ containerId: id, timeout: 5 });
    expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/ stdout F one\n$/);
    expect(bench.log()).toMatch(/ stdout F two\n/);
  });

  test('output is kept while a rotation can make no new log, and is in the log once one can be made', async () => {
    const id = await bench.run(saysOneThenTwo);
    await bench.says(id, 'one');
    const folder = join(bench.dir, 'logs/main');
    renameSync(folder, `${folder}.gone`);
    writeFileSync(folder, 'in the way');
    await expect(bench.runtime.reopenContainerLog({ containerId: id })).rejects.toThrow('EEXIST');
    rmSync(folder);
    await bench.runtime.stopContainer({ containerId: id, timeout: 5 });
    expect(bench.log()).toMatch(/ stdout F two\n/);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'root runs containers as other users, without privileges (needs root)',
    async () => {
      const linux = {
        securityContext: {
          runAsUser: { value: 65_534 },
          runAsGroup: { value: 65_533 },
          supplementalGroups: [7],
          noNewPrivs: true,
        },
      };
      const script =
        'id -u; id -g; id -G; grep NoNewPrivs /proc/self/status | tr "\\t" " "; echo ok > own && cat own';
      const id = await bench.run(['sh', '-c', script], { linux });
      expect(await bench.exited(id)).toMatchObject({
        exitCode: 0,
        user: { linux: { uid: 65_534, gid: 65_533 } },
      });
      const said = bench
        .log()
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ').slice(3).join(' '));
      expect(said).toEqual(['65534', '65533', '65533 7', 'NoNewPrivs: 1', 'ok']);
    },
  );
});
