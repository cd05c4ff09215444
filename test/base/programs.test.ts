import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { hostPrograms, runProgram } from '../../src/base/programs.ts';
import { isDead, readStat } from '../../src/processes/proc.ts';
import { found, soon } from '../support/found.ts';

const shell = (script: string, clock?: FakeClock): ReturnType<typeof runProgram> =>
  runProgram('/bin/sh', ['-c', script], { timeoutMs: 30_000, ...(clock && { clock }) });

test('what a program printed and its exit code are its end', async () => {
  expect(await shell('echo out; echo err >&2; exit 3')).toEqual({
    exitCode: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await shell('kill -TERM $$')).toEqual({ signal: 'SIGTERM', stdout: '', stderr: '' });
});

test('one that is not there cannot be started', async () => {
  await expect(runProgram('/no/such/program', [], { timeoutMs: 1000 })).rejects.toMatchObject({
    code: 'unavailable',
    message: 'fork/exec /no/such/program: no such file or directory',
  });
});

test('a flood is cut off', async () => {
  const { exitCode, stdout } = await shell('head -c 20000000 /dev/zero | tr "\\0" x');
  expect([exitCode, stdout.length]).toEqual([0, 1024 * 1024]);
});

const isGone = (pid: number): boolean => isDead(readStat(pid));

describe('at its deadline', () => {
  const dir = mkdtempSync(join(tmpdir(), 'programs-'));
  const told = join(dir, 'told');
  afterAll(() => {
    rmSync(dir, { recursive: true });
  });
  /** Two ids that a script wrote into the file `told`. */
  const ids = (): Promise<readonly number[]> =>
    found('the ids', () => {
      const all = readFileSync(told, 'utf8').trim().split(' ').map(Number);
      return all.length === 2 ? all : undefined;
    });

  test('a program that ignores signals is killed with its children, though they hold its streams', async () => {
    const clock = new FakeClock(0);
    const end = shell(`trap "" TERM INT HUP; sleep 1000 & echo $$ $! > ${told}; wait; sleep 1000`, clock);
    const all = await ids();
    await clock.advance(30_000);
    expect(await end).toEqual({ signal: 'SIGKILL', stdout: '', stderr: '' });
    await soon('all of them end', () => all.every(isGone));
  });

  test('one that has ended counts by its exit code, whoever holds its streams', async () => {
    const clock = new FakeClock(0);
    const end = shell(
      `echo a; echo $$ > ${told}; exec 2>&-; setsid sleep 1000 & echo $! >> ${told}; exit 0`,
      clock,
    );
    const [leader = 0, other = 0] = await found('the ids', () => {
      const all = readFileSync(told, 'utf8').trim().split('\n').map(Number);
      return all.length === 2 ? all : undefined;
    });
    await soon('it has ended', () => readStat(leader) === undefined);
    await clock.advance(30_000);
    process.kill(other, 'SIGKILL');
    expect(await end).toEqual({ exitCode: 0, stdout: 'a\n', stderr: '' });
  });
});

test('what fails says what it said of errors', async () => {
  expect(await hostPrograms.output('echo', ['a'])).toBe('a\n');
  await expect(hostPrograms.output('sh', ['-c', 'echo no >&2; exit 1'])).rejects.toMatchObject({
    code: 'unavailable',
    message: 'sh: no',
  });
  await expect(hostPrograms.output('sh', ['-c', 'exit 4'])).rejects.toThrow('sh: it ended with 4');
});
