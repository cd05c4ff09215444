import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConnection } from '../../../src/controller/client/connection.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'load-connection-'));
  vi.stubEnv('HOME', folder);
  vi.stubEnv('KUBECONFIG', undefined);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const kubeconfig = (server: string): string => `
apiVersion: v1
kind: Config
current-context: one
contexts:
  - { name: one, context: { cluster: c, user: u, namespace: mine } }
  - { name: two, context: { cluster: d, user: u } }
clusters:
  - { name: c, cluster: { server: '${server}' } }
  - { name: d, cluster: { server: 'https://other:6443' } }
users:
  - { name: u, user: { token: secret } }
`;

test('173. of a file and its context', async () => {
  const path = join(folder, 'config');
  await writeFile(path, kubeconfig('https://a:6443'));
  expect(await loadConnection(path)).toMatchObject({ server: 'https://a:6443', namespace: 'mine' });
  expect((await loadConnection({ path, context: 'two' })).server).toBe('https://other:6443');
});

test('174. of KUBECONFIG, and without a path', async () => {
  const path = join(folder, 'config');
  await writeFile(path, kubeconfig('https://b:6443'));
  vi.stubEnv('KUBECONFIG', path);
  expect((await loadConnection()).server).toBe('https://b:6443');
});

test('175. without any configuration says what to do', async () => {
  await expect(loadConnection()).rejects.toThrow('no cluster is configured: set KUBECONFIG');
});

test('176. of a file that is not there says so', async () => {
  await expect(loadConnection(join(folder, 'none'))).rejects.toThrow('none');
});
