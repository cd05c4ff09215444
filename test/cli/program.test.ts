import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentError } from '../../src/base/errors.ts';
import { DataDirError, openDataDir } from '../../src/app/data-dir.ts';
import { exitCodeOf, failureLines } from '../../src/cli/exit-codes.ts';
import { explain } from '../../src/cli/explain.ts';
import { defaultDataDir, runProgram } from '../../src/cli/program.ts';
import { readFlagsOnly, readRest } from '../../src/options/command-line.ts';
import { judge, validateFiles } from '../../src/cli/validate.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-cli-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

/** Runs one command line; answers which command was called with what, the exit code, and what commander wrote. */
async function line(...args: readonly string[]) {
  const calls: unknown[] = [];
  let written = '';
  const keep = (text: unknown): boolean => {
    written += String(text);
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  const note = (name: string) => async (options: unknown) => {
    calls.push([name, options]);
    return 0;
  };
  const commands = {
    up: note('up'),
    run: note('run'),
    validate: note('validate'),
    explain: note('explain'),
    virtualKubelet: note('virtualKubelet'),
    newProvider: note('newProvider'),
    newController: note('newController'),
    generateTypes: note('generateTypes'),
    simulate: note('simulate'),
    conformance: note('conformance'),
    apiserver: note('apiserver'),
    image: note('image'),
    envtestAssets: note('envtestAssets'),
    launch: note('launch'),
  };
  const around = {
    env: { PODTENDER_DATA_DIR: '/data' },
    cwd: dir,
    exampleManifests: join(dir, 'package/examples/manifests'),
    uid: 1,
    version: '1.2.3',
  };
  const code = await runProgram(args, commands, around);
  vi.restoreAllMocks();
  return { calls, code, written };
}

describe('the command line', () => {
  test('`up` needs no flags', async () => {
    const { calls, code } = await line('up', '--node-name', 'n');
    expect(code).toBe(0);
    expect(calls).toEqual([
      [
        'up',
        {
          dataDir: '/data',
          provider: 'process',
          nodeName: 'n',
          output: 'auto',
          port: 16443,
          leaveRunning: false,
          controllers: ['*'],
          kubeletFlags: [],
        },
      ],
    ]);
  });

  test('`up` takes a list of controllers', async () => {
    const { calls } = await line('up', '--controllers', '*,-job', '--controllers', 'scheduler');
    expect(calls).toMatchObject([['up', { controllers: ['*', '-job', 'scheduler'] }]]);
  });

  test('`up` takes the examples of the directory it is started in, unless manifests are named', async () => {
    mkdirSync(join(dir, 'package/examples/manifests'), { recursive: true });
    expect((await line('up')).calls, 'those of the package').toMatchObject([
      ['up', { manifests: join(dir, 'package/examples/manifests') }],
    ]);
    mkdirSync(join(dir, 'examples/manifests'), { recursive: true });
    expect((await line('up')).calls).toMatchObject([['up', { manifests: join(dir, 'examples/manifests') }]]);
    expect((await line('up', '--manifests', 'pods')).calls).toMatchObject([
      ['up', { manifests: join(dir, 'pods') }],
    ]);
  });

  test('`run` has no port and takes a kubeconfig', async () => {
    const { calls } = await line('run', '--kubeconfig', 'k', '--provider', 'cri');
    expect(calls).toMatchObject([['run', { kubeconfig: join(dir, 'k'), provider: 'cri' }]]);
  });

  test('kubelet flags are passed on among the own ones', async () => {
    const { calls } = await line('up', '--max-pods', '5', '--port', '0', '--v=2');
    expect(calls).toMatchObject([['up', { port: 0, kubeletFlags: ['--max-pods', '5', '--v=2'] }]]);
  });

  test.for([
    [['up', '--port', '70000'], /must be a number from 0 to 65535/],
    [['up', '--manifest-url', 'ftp://x'], /http/],
    [['up', '--output', 'xml'], /Allowed choices are auto, table, plain, json/],
    [['validate', '--nosuch'], /unknown option '--nosuch'/],
    [['nosuch'], /unknown command 'nosuch'/],
  ] as const)('%j is refused with 2 and a reason', async ([args, reason]) => {
    const { code, written, calls } = await line(...args);
    expect(code).toBe(2);
    expect(written).toMatch(reason);
    expect(calls).toEqual([]);
  });

  test.for([
    [['--help']],
    [['up', '--help']],
    [['run', '--help']],
    [['validate', '--help']],
    [['explain', '--help']],
  ] as const)('%j shows examples and ends with 0', async ([args]) => {
    const { code, written } = await line(...args);
    expect(code).toBe(0);
    expect(written).toContain('Examples:\n  podtender');
  });

  test('--version prints the version', async () => {
    expect(await line('--version')).toMatchObject({ code: 0, written: '1.2.3\n' });
  });

  test("root keeps state in the system's place, others in their own", () => {
    expect(defaultDataDir({ env: {}, uid: 0 })).toBe('/var/lib/podtender');
    expect(defaultDataDir({ env: { XDG_STATE_HOME: '/s' }, uid: 5 })).toBe('/s/podtender');
  });
});

describe('exit codes', () => {
  const inUse = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:6443'), {
    code: 'EADDRINUSE',
  });
  test.for<readonly [unknown, number, string]>([
    [new DataDirError('/d', 'is in use'), 73, 'data directory /d is in use'],
    [inUse, 75, 'port 6443 is in use; choose another with --port'],
    [new AgentError('internal', 'server: x', { cause: inUse }), 75, 'server: x'],
    [new AgentError('invalid_argument', 'bad'), 2, 'bad'],
    ['odd', 1, 'odd'],
  ])('%s', ([reason, code, text]) => {
    expect([exitCodeOf(reason), failureLines(reason)]).toEqual([code, [text]]);
  });
});

describe('the data directory', () => {
  test('is made, claimed, and free again after its release', () => {
    const path = join(dir, 'new/data');
    const first = openDataDir(path);
    expect(() => openDataDir(path)).toThrow(/is in use by process \d+; stop it, or choose another/);
    first.release();
    openDataDir(path).release();
  });

  test('of a dead agent is free', () => {
    writeFileSync(join(dir, 'agent.lock'), '1 1');
    openDataDir(dir).release();
  });

  test('of another version is refused', () => {
    writeFileSync(join(dir, 'format'), 'podtender data 9\n');
    expect(() => openDataDir(dir)).toThrow('holds "podtender data 9", this version reads "podtender data 1"');
  });

  test('that is a file is refused with 73', () => {
    const path = join(dir, 'file');
    writeFileSync(path, '');
    expect(() => openDataDir(path)).toThrow(DataDirError);
  });
});

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

test('validate names every fault with its line, and the exit code says whether all can be used', () => {
  const good = join(dir, 'good.yaml');
  const bad = join(dir, 'bad.yaml');
  writeFileSync(good, `${head}maxPods: 50\n`);
  writeFileSync(bad, `${head}maxPods: many\n`);
  const said: string[] = [];
  expect(validateFiles([good], (text) => said.push(text))).toBe(0);
  expect(validateFiles([good, bad], (text) => said.push(text))).toBe(2);
  expect(said[0]).toBe(`${good}: can be used`);
  expect(said.at(-1)).toMatch(/maxPods/);
  expect(() => validateFiles([join(dir, 'none')], () => undefined)).toThrow(
    /none cannot be read: open .*none: no such file or directory/,
  );
  expect(judge(`${head}healthzPort: 99999\n`).faults.length).toBeGreaterThan(0);
  expect(judge(`${head}hairpinMode: none\n`).warnings).toMatchObject([{ path: 'hairpinMode', line: 3 }]);
});

test('explain controllers prints the names of --controllers and what each does', () => {
  const said: string[] = [];
  const of = (path: string, output: 'text' | 'json' = 'text'): number =>
    explain({ rest: [path], output }, {}, (text) => said.push(text));
  expect(of('controllers')).toBe(0);
  expect(said).toHaveLength(24);
  expect(said.join('\n')).toMatch(/^cronjob-controller +makes Jobs by the schedules of CronJobs$/m);
  said.length = 0;
  expect(of('controllers.scheduler', 'json')).toBe(0);
  expect(said).toEqual(['{"controller":"scheduler","does":"binds pods without a node to one that fits"}']);
  said.length = 0;
  expect(of('controllers.job-controler')).toBe(2);
  expect(said).toEqual(['there is no controller job-controler; did you mean controllers.job-controller?']);
});

test('explain prints each setting and its origin', () => {
  const file = join(dir, 'k.yaml');
  writeFileSync(file, `${head}maxPods: 50\npodsPerCore: 4\n`);
  const ask = (...rest: readonly string[]): readonly string[] => {
    const said: string[] = [];
    expect(explain({ config: file, rest, output: 'text' }, {}, (text) => said.push(text))).toBe(0);
    return said;
  };
  expect(ask('podsPerCore')).toEqual([`podsPerCore  4  (${file}:4)`]);
  expect(ask('--max-pods', '60', 'maxPods')).toEqual(['maxPods  60  (--max-pods)']);
  expect(ask('podPidsLimit')).toEqual(['podPidsLimit  -1  (default)']);
  expect(ask().length).toBeGreaterThan(90);
  const told = (path: string): readonly [number, readonly string[]] => {
    const lines: string[] = [];
    return [explain({ rest: [path], output: 'text' }, {}, (line) => lines.push(line)), lines];
  };
  expect(told('nosuch')).toEqual([2, ['there is no setting nosuch']]);
  expect(told('authentication.webhok')).toEqual([
    2,
    ['there is no setting authentication.webhok; did you mean authentication.webhook?'],
  ]);
  expect(told('evictionHard')).toEqual([0, ['evictionHard is not set']]);
});

test.for<readonly [readonly string[], unknown]>([
  [['--max-pods=5'], { flags: { 'max-pods': '5' }, operands: [] }],
  [['--max-pods', '5', 'x'], { flags: { 'max-pods': '5' }, operands: ['x'] }],
  [['--fail-swap-on', 'x'], { flags: { 'fail-swap-on': true }, operands: ['x'] }],
  [['--node-ip', 'a', '--node-ip', 'b'], { flags: { 'node-ip': ['a', 'b'] }, operands: [] }],
  [['--a', '--b=c=d'], { flags: { a: true, b: 'c=d' }, operands: [] }],
])('kubelet flags %j are read', ([words, rest]) => {
  expect(readRest(words)).toEqual(rest);
});

test('a word that is no flag is refused where none is wanted', () => {
  expect(() => readFlagsOnly(['pods'])).toThrow('unexpected argument "pods"');
});

test('explain shows what is in force: what follows the data directory, and the flags of the commands', () => {
  const ask = (options: object, env = {}): Readonly<Record<string, string>> => {
    const said: string[] = [];
    explain({ rest: [], output: 'json', ...options }, env, (line) => said.push(line));
    const lines = said.map((line) => JSON.parse(line) as { path: string; value: unknown; from: string });
    return Object.fromEntries(lines.map(({ path, value, from }) => [path, `${String(value)} ${from}`]));
  };
  expect(ask({ dataDir: '/d', isDataDirSet: true, manifests: '/m', nodeName: 'x' })).toMatchObject({
    dataDir: '/d --data-dir',
    rootDir: '/d/agent --data-dir',
    certDir: '/d/pki --data-dir',
    staticPodPath: '/m --manifests',
    nodeName: 'x --node-name',
  });
  expect(ask({ dataDir: '/d' }, { PODTENDER_DATA_DIR: '/d' })).toMatchObject({
    rootDir: '/d/agent $PODTENDER_DATA_DIR',
  });
  expect(ask({ dataDir: '/d', rest: ['--root-dir=/r'] })).toMatchObject({
    dataDir: '/d default',
    rootDir: '/r --root-dir',
    certDir: '/r/pki default',
  });
});

test('a mistyped flag names the one that was meant, also a flag of the command', () => {
  const faultOf = (flag: string): string => {
    try {
      explain({ rest: [`--${flag}=1`], output: 'text' }, {}, () => undefined);
    } catch (reason) {
      return failureLines(reason).join();
    }
    return '';
  };
  expect(faultOf('prot')).toBe('--prot: there is no such flag; did you mean --port?');
  expect(faultOf('manifets')).toBe('--manifets: there is no such flag; did you mean --manifests?');
});

test('-h is --help', async () => {
  expect((await line('up', '-h')).code).toBe(0);
});

test('validate reports the structure and the rules of a configuration at once, and takes directories', () => {
  const folder = join(dir, 'all');
  mkdirSync(join(folder, 'below'), { recursive: true });
  writeFileSync(join(folder, 'k.yaml'), `${head}maxPods: many\nhealthzPort: 99999\nnosuch: 1\n`);
  writeFileSync(
    join(folder, 'p.yaml'),
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}\n',
  );
  writeFileSync(join(folder, '.hidden'), 'x');
  const said: string[] = [];
  expect(validateFiles([folder], (text) => said.push(text))).toBe(2);
  expect(said).toEqual([
    expect.stringContaining('k.yaml: 3:10 maxPods = "many": failed to decode'),
    expect.stringContaining(
      'k.yaml: 4:14 healthzPort: invalid configuration: healthzPort (--healthz-port) 99999 must',
    ),
    expect.stringContaining('k.yaml: warning: 5:9 nosuch: there is no such setting'),
    `${join(folder, 'p.yaml')}: can be used`,
  ]);
  expect(() => validateFiles([join(folder, 'below')], () => undefined)).toThrow(/below holds no files/);
  const refused: string[] = [];
  expect(
    validateFiles([join(folder, 'p.yaml')], (text) => refused.push(text), {
      refusals: () => ['not here'],
      warnings: () => ['not kept'],
    }),
  ).toBe(2);
  expect(refused).toEqual([expect.stringMatching(/p\.yaml:1:1: not here$/)]);
  const warned: string[] = [];
  const warnings = (): readonly string[] => ['not kept'];
  expect(validateFiles([join(folder, 'p.yaml')], (text) => warned.push(text), { warnings })).toBe(0);
  expect(warned).toEqual([
    expect.stringMatching(/p\.yaml:1:1: warning: not kept$/),
    `${join(folder, 'p.yaml')}: can be used`,
  ]);
});
