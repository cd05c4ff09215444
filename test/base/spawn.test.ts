import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { spawnProgram } from '../../src/base/spawn.ts';

const source = (path: string): string => new URL(`../../src/${path}`, import.meta.url).pathname;

/** Has a process that has no descriptor left do something, and returns what it prints. */
const withoutDescriptors = (act: string): string =>
  execFileSync(
    '/bin/sh',
    ['-c', 'ulimit -n 60; exec "$0" --input-type=module --eval "$1"', process.execPath, act],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', 'pipe', 'pipe'] },
  );

const takeAll = `
  import { openSync } from 'node:fs';
  const all = () => { try { for (;;) openSync('/dev/null', 'r'); } catch (reason) { console.log(reason.code); } };`;

test('a program is started with its streams', async () => {
  const child = spawnProgram('/bin/echo', ['hello'], { stdio: 'pipe' });
  expect((await child.stdout.toArray()).join('')).toBe('hello\n');
});

test('who has no file descriptor left is told so at once, and lives on', () => {
  const told = withoutDescriptors(`${takeAll}
    import { spawnProgram } from '${source('base/spawn.ts')}';
    all();
    try { spawnProgram('/bin/true', [], { stdio: 'pipe' }); } catch ({ code, message }) { console.log(code, message); }`);
  expect(told).toBe('EMFILE\nunavailable fork/exec /bin/true: too many open files\n');
});

test('a command on a terminal that cannot be had for want of descriptors fails, and nothing else', () => {
  const told = withoutDescriptors(`${takeAll}
    import { execStreams } from '${source('processes/exec.ts')}';
    const user = { uid: process.getuid(), gid: process.getgid(), supplementalGroups: [] };
    const tools = { env: '/usr/bin/env', nice: '/usr/bin/nice' };
    const words = { argv: ['/bin/true'], env: new Map(), workingDir: '/', root: '/' };
    const plan = { ...words, user, tools, prefix: [], shell: '/bin/sh', scratch: '/tmp' };
    const terminal = { script: '/usr/bin/script', setUp: '', leader: () => undefined };
    all();
    await execStreams(plan, { terminal }, new AbortController().signal).catch(({ message }) => console.log(message));`);
  expect(told).toContain('too many open files');
});

test('a program that goes on has ended when it cannot be started', () => {
  const told = withoutDescriptors(`${takeAll}
    import { hostPrograms } from '${source('base/programs.ts')}';
    all();
    const program = hostPrograms.start('/bin/true', [], () => undefined);
    program.stop();
    program.closeInput();
    console.log(await program.ended);`);
  expect(told).toBe('EMFILE\nfork/exec /bin/true: too many open files\n');
});
