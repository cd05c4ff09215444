import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContainerConfig } from '../../src/provider/cri-messages.ts';
import { processPowers } from '../../src/providers/process/powers.ts';
import { makeBench, type Bench } from '../providers/process/harness.ts';
import { TerminalClient } from '../support/terminal-client.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('skipped: only an agent that is root can change users');

const user = 65_534;
let bench: Bench;
let bed: string;
beforeEach(async () => {
  bench = await makeBench();
  bed = mkdtempSync(join(tmpdir(), 'podtender-attack-'));
  chmodSync(bed, 0o777);
});
afterEach(async () => {
  await bench.end();
  rmSync(bed, { recursive: true, force: true });
});

/** A container of a user without any rights. */
const asUser = (
  env: Readonly<Record<string, string>>,
  more: Partial<ContainerConfig> = {},
): Partial<ContainerConfig> => ({
  linux: { securityContext: { runAsUser: { value: user }, noNewPrivs: true } },
  envs: Object.entries(env).map(([key, value]) => ({ key, value: Buffer.from(value) })),
  ...more,
});

/** What makes every dynamic loader write a file, which belongs to whom it ran for. */
const loader = (): Readonly<Record<string, string>> => ({
  LD_DEBUG: 'libs',
  LD_DEBUG_OUTPUT: join(bed, 'loaded'),
});

/** The users for whom a loader has read the variables. */
const loadedFor = (): readonly number[] => [
  ...new Set(readdirSync(bed).map((name) => statSync(join(bed, name)).uid)),
];

const ref = (id: string) => ({
  podUid: 'uid-1',
  namespace: 'default',
  pod: 'pod',
  container: 'main',
  id: `process://${id}`,
});
const never = new AbortController().signal;
const idle = ['sleep', '1000'];

describe.runIf(isRoot)('variables of the dynamic loader are read for the container’s user only', () => {
  test('at the start', async () => {
    const id = await bench.run(['id', '-u'], asUser(loader()));
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(bench.log()).toContain(`F ${user}\n`);
    expect(loadedFor()).toEqual([user]);
  });

  test('with names beside them that no shell can hold', async () => {
    const id = await bench.run(['id', '-u'], asUser({ ...loader(), 'a.b': '1', BASH_ENV: '/nope' }));
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(loadedFor()).toEqual([user]);
  });

  test('in an exec probe or hook', async () => {
    const id = await bench.run(idle, asUser(loader()));
    for (const name of readdirSync(bed)) rmSync(join(bed, name));
    const { exitCode, stdout } = await bench.runtime.execSync({ containerId: id, cmd: ['id', '-u'] });
    expect([exitCode, Buffer.from(stdout ?? []).toString()]).toEqual([0, `${user}\n`]);
    expect(loadedFor()).toEqual([user]);
  });

  test('in an exec with a terminal', async () => {
    const id = await bench.run(idle, asUser(loader()));
    for (const name of readdirSync(bed)) rmSync(join(bed, name));
    const client = new TerminalClient(80, 24);
    expect(await processPowers(bench.runtime).exec(ref(id), ['id', '-u'], client.io, never)).toBe(0);
    expect(client.seen).toContain(String(user));
    expect(loadedFor()).toEqual([user]);
  });

  test('in a container with a terminal', async () => {
    const id = await bench.run(['id', '-u'], asUser(loader(), { tty: true, stdin: true }));
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(loadedFor()).toEqual([user]);
  });
});

describe.runIf(isRoot)('what the container’s user may not reach', () => {
  const secret = (): string => {
    const dir = join(bed, 'secret');
    mkdirSync(join(dir, 'open'), { recursive: true });
    writeFileSync(join(dir, 'program'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
    chmodSync(dir, 0o700);
    return dir;
  };

  test('is no working directory', async () => {
    const workingDir = join(secret(), 'open');
    await expect(bench.run(['cat', '/proc/self/status'], asUser({}, { workingDir }))).rejects.toThrow(
      `unable to start container process: chdir to cwd ("${workingDir}") set in config.json failed: permission denied`,
    );
  });

  test('is no program, and the words do not tell whether it is there', async () => {
    const dir = secret();
    for (const name of ['program', 'nothing'])
      await expect(bench.run([join(dir, name)], asUser({}))).rejects.toThrow(
        /^unable to start container process: exec: "[^"]+": (permission denied|no such file or directory)$/,
      );
  });

  test('is not found on PATH', async () => {
    await expect(bench.run(['program'], asUser({ PATH: `${secret()}:/usr/bin` }))).rejects.toThrow(
      /exec: "program": (permission denied|executable file not found in \$PATH)$/,
    );
    const id = await bench.run(idle, asUser({}));
    const { exitCode } = await bench.runtime
      .execSync({ containerId: id, cmd: [join(bed, 'secret/program')] })
      .catch(() => ({ exitCode: 128 }));
    expect(exitCode).not.toBe(0);
  });

  test('is not in the hands of the agent’s own programs', async () => {
    const id = await bench.run(['cat', '/proc/self/status'], asUser({}));
    await bench.exited(id);
    expect(bench.log()).toMatch(new RegExp(`Uid:\\t${user}\\t${user}\\t${user}\\t${user}\n`));
    expect(bench.log()).toMatch(/Groups:\t \n/);
    expect(bench.log()).toMatch(/CapEff:\t0+\n/);
    expect(bench.log()).toMatch(/NoNewPrivs:\t1\n/);
  });

  test('names of capabilities are no further words', async () => {
    const linux = {
      securityContext: { capabilities: { dropCapabilities: ['CHOWN,+sys_admin'] } },
    };
    await expect(bench.run(['true'], { linux })).rejects.toThrow('unknown capability "CHOWN,+sys_admin"');
  });
});

describe('words from outside are neither options nor shell', () => {
  const odd = {
    QUOTES: `'; touch /tmp/no; ' "$(id)" \`id\``,
    LINES: 'a\nb\n\n',
    'a.b-c': 'dots',
    '1x': 'digit',
    '-u': 'dash',
    'BASH_FUNC_f%%': '() { :; }; echo shock',
    ENV: '/nope',
    IFS: 'x',
    PS4: '$(id)',
    RANDOM: 'fixed',
    SECONDS: 'fixed',
    LD_X: '--help',
    UMLAUT_Ä: 'ü',
  };

  test.for(isRoot ? [user, undefined] : [undefined])('variables arrive as they are, user %s', async (uid) => {
    const config = { ...asUser(odd), ...(uid === undefined && { linux: {} }) };
    const id = await bench.run(['cat', '/proc/self/environ'], config);
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    const said = bench
      .log()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ').slice(3).join(' '))
      .join('\n');
    const found = Object.fromEntries(
      said.split('\0').map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
    );
    expect(found).toMatchObject(odd);
  });

  test.for(isRoot ? [user, undefined] : [undefined])('programs begin with a dash, user %s', async (uid) => {
    const name = '-c';
    writeFileSync(join(bed, name), '#!/bin/sh\necho dash "$@"\n', { mode: 0o755 });
    const config = { ...asUser({ PATH: `${bed}:/usr/bin:/bin` }), ...(uid === undefined && { linux: {} }) };
    const id = await bench.run([name, '--', '-e', 'exit 3'], config);
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(bench.log()).toContain('F dash -- -e exit 3\n');
    const other = await bench.run(idle, config);
    const { stdout } = await bench.runtime.execSync({ containerId: other, cmd: [name, 'x'] });
    expect(Buffer.from(stdout ?? []).toString()).toBe('dash x\n');
  });

  test('programs have an equals sign, with variables that no shell can hold', async () => {
    const path = join(bed, 'a=b');
    writeFileSync(path, '#!/bin/sh\necho ran\n', { mode: 0o755 });
    const id = await bench.run([path], asUser({ 'a.b': '1' }, { linux: {} }));
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(bench.log()).toContain('F ran\n');
  });

  test.for(['-', '--', '-P', "it's $(id)"])('a working directory is %s', async (name) => {
    const workingDir = join(bed, name);
    mkdirSync(workingDir);
    const id = await bench.run(['pwd'], asUser({ CDPATH: '/' }, { workingDir, linux: {} }));
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
    expect(bench.log()).toContain(`F ${workingDir}\n`);
  });

  test('what cannot be a word of a program is refused', async () => {
    await expect(bench.run(['echo', 'a\0b'])).rejects.toThrow('exec: "echo": invalid argument');
    await expect(bench.run(['true'], asUser({ A: 'a\0b' }, { linux: {} }))).rejects.toThrow(
      'invalid argument',
    );
  });

  test('what runs before the user is changed has nothing of the pod in it', async () => {
    const id = await bench.run(
      ['sleep', '1000'],
      asUser({ TOKEN: 'very-secret', 'tls.key': 'very-secret' }, isRoot ? {} : { linux: {} }),
    );
    const dir = join(bench.dir, 'process/containers', id);
    for (const script of ['command.sh', 'supervise.sh'])
      expect(readFileSync(join(dir, script), 'utf8')).not.toContain('very-secret');
    expect(existsSync(join(dir, 'launch.sh'))).toBe(false);
  });
});
