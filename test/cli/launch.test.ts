import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launch } from '../../src/cli/launch.ts';

async function run(name: 'etcd' | 'kube-apiserver', args: readonly string[]) {
  let written = '';
  const warned: string[] = [];
  let signal = (): void => undefined;
  const code = await launch(name, args, {
    write: (text) => (written += text),
    warn: (line) => {
      warned.push(line);
      signal();
    },
    onSignal: (listener) => {
      signal = listener;
      return () => undefined;
    },
  });
  return { code, written, warned };
}

test('a launcher says where it serves, and ends with a signal', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-launch-'));
  const args = ['--data-dir', dir, '--listen-client-urls', 'http://127.0.0.1:0'];
  const { code, warned } = await run('etcd', args);
  expect(code).toBe(0);
  expect(warned[0]).toMatch(/^ready to serve client requests at http:\/\/127\.0\.0\.1:\d+$/);
  rmSync(dir, { recursive: true });
});

test('help and version are printed; a mistake is thrown', async () => {
  expect((await run('etcd', ['--version'])).written).toBe('etcd Version: 3.6.0\n');
  expect((await run('kube-apiserver', ['-h'])).written).toContain('--etcd-servers string');
  await expect(run('kube-apiserver', [])).rejects.toThrow('--etcd-servers must be specified');
});
