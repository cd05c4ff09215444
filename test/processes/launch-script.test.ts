import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { launchScript } from '../../src/processes/launch-script.ts';
import { makeBench, type Bench } from '../providers/process/harness.ts';

const tools = { env: '/usr/bin/env', nice: '/usr/bin/nice' };
const words = { argv: ['main', 'a b'], env: new Map([['A', "it's"]]), workingDir: '/r', root: '/r' };

describe('the script', () => {
  test('quotes each word, and goes nowhere when the root is the working directory', () => {
    const script = launchScript(words, tools);
    expect(script).toContain("export A='it'\\''s'\n");
    expect(script).toContain("{ exec main 'a b'; }");
    expect(script).not.toContain('cd ');
  });

  test('goes below the root by a path from there', () => {
    expect(launchScript({ ...words, workingDir: '/r/a b' }, tools)).toContain("cd './a b'");
    expect(launchScript({ ...words, workingDir: '/root' }, tools)).toContain('cd /root ');
  });

  test.for(['a b', '1 a', 'a-$(id)'])('leaves %s to env', (name) => {
    const script = launchScript({ ...words, env: new Map([[name, 'x']]) }, tools);
    expect(script).toContain(`{ exec /usr/bin/env -- '${name}=x' main 'a b'; }`);
    expect(script).not.toContain('export');
  });

  test.for(['IFS', 'BASH_ENV', 'RANDOM', 'PWD', 'SHELLOPTS', 'a.b'])('assigns %s in no shell', (name) => {
    const script = launchScript({ ...words, env: new Map([[name, 'x']]) }, tools);
    expect(script).toMatch(new RegExp(`exec /usr/bin/env -- '?${name}=x'? main 'a b';`));
    expect(script).not.toContain('export');
  });
});

describe('a program that the kernel refuses', () => {
  let bench: Bench;
  let dir: string;
  beforeEach(async () => {
    bench = await makeBench();
    dir = mkdtempSync(join(tmpdir(), 'podtender-launch-'));
    chmodSync(dir, 0o755);
  });
  afterEach(async () => {
    await bench.end();
    rmSync(dir, { recursive: true, force: true });
  });

  const program = (content: Buffer | string): string => {
    const path = join(dir, 'program');
    writeFileSync(path, content, { mode: 0o755 });
    return path;
  };
  /** A program of this machine with some of its bytes exchanged. */
  const damaged = (at: number, ...bytes: readonly number[]): string => {
    const copy = readFileSync('/bin/true');
    copy.set(bytes, at);
    return program(copy);
  };
  const machine = 18;

  const refusals: readonly (readonly [string, () => readonly string[], RegExp])[] = [
    ['is for another machine', () => [damaged(machine, 0xf7, 0)], /exec format error$/],
    ['is cut', () => [program(readFileSync('/bin/true').subarray(0, 100))], /exec format error$/],
    ['is a header alone', () => [program('\x7fELF')], /exec format error$/],
    ['is empty', () => [program('')], /exec format error$/],
    ['is text without an interpreter', () => [program('echo ran\n')], /exec format error$/],
    ['has an interpreter that is not there', () => [program('#!/no/such\n')], /no such file or directory$/],
    ['has an interpreter that is a folder', () => [program('#!/etc\n')], /permission denied$/],
    ['has more words than fit', () => ['/bin/true', 'x'.repeat(200_000)], /argument list too long$/],
    ['is a folder', () => [dir], /is a directory$/],
    ['is a device', () => ['/dev/null'], /permission denied$/],
    ['may not be executed', () => ['/etc/passwd'], /permission denied$/],
    ['lies below a file', () => ['/etc/passwd/x'], /no such file or directory|not a directory$/],
    [
      'has a name that is too long',
      () => [`/${'x'.repeat(300)}`],
      /no such file or directory|file name too long$/,
    ],
    ['is on no PATH', () => ['no-such-program'], /executable file not found in \$PATH$/],
  ];

  test.for(refusals)(
    'since it %s ends its container as StartError, with an empty log',
    async ([, argv, said]) => {
      await expect(bench.run(argv())).rejects.toThrow(said);
      const { containers = [] } = await bench.runtime.listContainers({});
      expect(await bench.status(containers[0]?.id ?? '')).toMatchObject({
        exitCode: 128,
        reason: 'StartError',
      });
      expect(bench.log()).toBe('');
    },
  );

  test('with variables that no shell can hold ends it too', async () => {
    const envs = [{ key: 'a.b', value: Buffer.from('x') }];
    await expect(bench.run([damaged(machine, 0xf7, 0)], { envs })).rejects.toThrow(/exec format error$/);
  });

  test('one that may only be executed runs', async () => {
    mkdirSync(join(dir, 'bin'));
    copyFileSync('/bin/true', join(dir, 'bin/true'));
    chmodSync(join(dir, 'bin/true'), 0o711);
    const id = await bench.run(['true'], { envs: [{ key: 'PATH', value: Buffer.from(join(dir, 'bin')) }] });
    expect(await bench.exited(id)).toMatchObject({ exitCode: 0 });
  });
});
