import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeEnvtestAssets } from '../../src/app/envtest-assets.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-assets-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const program = new URL('../../bin/podtender.mjs', import.meta.url).pathname;
const write = (more: object = {}): readonly string[] =>
  writeEnvtestAssets({ dir: join(dir, 'a b'), node: process.execPath, program, version: '1', ...more });

const run = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(file, args, { encoding: 'utf8', env: { PATH: process.env['PATH'], ...env } });

test('the launchers have kube-apiserver’s and etcd’s flags in their help', () => {
  const [apiserver = '', etcd = ''] = write();
  expect(statSync(apiserver).mode & 0o777).toBe(0o755);
  const help = run(apiserver, ['--help']);
  expect(help.status).toBe(0);
  expect(help.stdout).toMatch(/^ +--service-account-signing-key-file\b/m);
  expect(help.stdout).not.toMatch(/^ +--insecure-port\b/m);
  expect(run(apiserver, ['--version']).stdout).toBe('Kubernetes v1.36.2\n');
  expect(run(etcd, ['--help']).stdout).toMatch(/^ +--unsafe-no-fsync\b/m);
  const wrong = run(apiserver, ['--nope']);
  expect([wrong.status, wrong.stderr]).toEqual([2, 'podtender: unknown flag: --nope\n']);
});

test('a launcher is the process itself, and ends with SIGTERM', async () => {
  const [, etcd = ''] = write();
  const args = ['--listen-client-urls', 'http://127.0.0.1:0', '--data-dir', join(dir, 'data')];
  const child = spawn(etcd, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const code = await new Promise((resolve) => {
    child.stderr.once('data', () => child.kill('SIGTERM'));
    child.on('close', resolve);
  });
  expect(code).toBe(0);
});

test('kubectl is the machine’s, not the launcher itself', () => {
  const kubectl = write()[2] ?? '';
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'kubectl'), '#!/bin/sh\necho "real $@"\n');
  chmodSync(join(dir, 'bin', 'kubectl'), 0o755);
  const path = `${join(dir, 'a b')}:/usr/bin:/bin`;
  expect(
    run(kubectl, ['get', 'x y'], { PATH: `${join(dir, 'a b')}:${join(dir, 'bin')}:/usr/bin:/bin` }).stdout,
  ).toBe('real get x y\n');
  expect(run(kubectl, ['v'], { PATH: path, PODTENDER_KUBECTL: join(dir, 'bin', 'kubectl') }).stdout).toBe(
    'real v\n',
  );
  for (const tool of ['head', 'grep', 'dirname'])
    writeFileSync(join(dir, tool), `#!/bin/sh\nexec /usr/bin/${tool} "$@"\n`, { mode: 0o755 });
  const none = run(kubectl, [], { PATH: `${join(dir, 'a b')}:${dir}` });
  expect(none.status).toBe(127);
  expect(none.stderr).toContain('there is no kubectl on the PATH: install it');
});

test('programs of others are not overwritten, launchers are', () => {
  write();
  expect(write({ version: '2' })).toHaveLength(3);
  writeFileSync(join(dir, 'a b', 'etcd'), 'ELF');
  expect(() => write()).toThrow(/etcd exists and is no launcher of podtender/);
  expect(() => writeEnvtestAssets({ dir: '/dev/null/x', node: '', program, version: '1' })).toThrow(
    '/dev/null/x: ',
  );
});
