import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { messageOf } from '../../src/base/errors.ts';

const dir = mkdtempSync(join(tmpdir(), 'podtender-fault-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});
const long = 'x'.repeat(300);

test.for<readonly [act: () => void, said: string]>([
  [
    () => {
      mkdirSync(join(dir, long));
    },
    `mkdir ${dir}/${long}: file name too long`,
  ],
  [() => readFileSync(join(dir, 'none')), `open ${dir}/none: no such file or directory`],
  [() => readFileSync(dir), 'read: is a directory'],
  [() => readdirSync(join(dir, 'none')), `open ${dir}/none: no such file or directory`],
  [() => realpathSync.native(join(dir, 'none')), `lstat ${dir}/none: no such file or directory`],
  [
    () => {
      mkdirSync('/proc/self/x');
    },
    'mkdir /proc/self/x: no such file or directory',
  ],
  [
    () => {
      renameSync(join(dir, 'a'), join(dir, 'b'));
    },
    `rename ${dir}/a ${dir}/b: no such file or directory`,
  ],
])('%s is said as Go says it', ([act, said]) => {
  expect.assertions(1);
  try {
    act();
  } catch (reason) {
    expect(messageOf(reason)).toBe(said);
  }
});

test.for([
  ['podtender-none', 'exec: "podtender-none": executable file not found in $PATH'],
  ['/podtender/none', 'fork/exec /podtender/none: no such file or directory'],
  ['/etc/passwd', 'fork/exec /etc/passwd: permission denied'],
])('the program %s cannot be started', async ([program = '', said]) => {
  const [reason] = (await once(spawn(program), 'error').catch((fault: unknown) => [fault])) as [unknown];
  expect(messageOf(reason)).toBe(said);
});

test('the words of others stay as they are', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  expect(messageOf(refused)).toBe('connect ECONNREFUSED 127.0.0.1:1');
  expect(
    messageOf(Object.assign(new Error('our own words'), { code: 'ENOENT', syscall: 'open', path: '/x' })),
  ).toBe('our own words');
  expect(messageOf('text')).toBe('text');
});
