import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { newControllerProject } from '../../src/app/new-controller.ts';

const root = join(import.meta.dirname, '../..');
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-new-controller-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});
const options = () => ({
  ...{ name: 'my-cache', group: 'cache.example.com', kind: 'Memcached', apiVersion: 'v1alpha1' },
  ...{ cwd: dir, version: '0.1.0' },
});

const folders: Readonly<Record<string, string>> = {
  '/controller': 'controller/index.ts',
  '/controller/controllertest': 'controller/controllertest/index.ts',
  '/controller/envtest': 'envtest/index.ts',
  '/controller/logging': 'controller/logging/index.ts',
  '/controller/webhook': 'controller/webhook/index.ts',
};

/** Writes a project whose imports lead into this checkout, and runs its tests. */
async function tested(more: object): Promise<{ readonly files: readonly string[]; readonly report: string }> {
  const files = await newControllerProject({ ...options(), ...more });
  symlinkSync(join(root, 'node_modules'), join(dir, 'my-cache/node_modules'));
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(dir, file), 'utf8').replaceAll(
      /from 'podtender([/a-z]*)'/g,
      (_all, below: string) => `from '${join(root, 'src', folders[below] ?? '')}'`,
    );
    writeFileSync(join(dir, file), text);
  }
  const report = execFileSync(process.execPath, ['--test', 'test/*.test.ts'], {
    encoding: 'utf8',
    cwd: join(dir, 'my-cache'),
  });
  return { files, report };
}

const kindsIn = (file: string): readonly string[] =>
  parseAllDocuments(readFileSync(join(dir, 'my-cache/config', file), 'utf8')).map(
    (document) => (document.toJS() as { kind: string }).kind,
  );

test('the tests of a new controller pass as generated', { timeout: 120_000 }, async () => {
  const { files, report } = await tested({});
  expect(files).toEqual(
    expect.arrayContaining(
      ['config/crd.yaml', 'src/reconciler.ts', 'Dockerfile'].map((file) => `my-cache/${file}`),
    ),
  );
  expect(report).toMatch(/pass 3\n/);
  expect(kindsIn('deploy.yaml')).toEqual([
    ...['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    'Deployment',
  ]);
});

test('… and with webhooks for defaults, validation and an older version', { timeout: 120_000 }, async () => {
  const { report } = await tested({ apiVersion: 'v1', webhook: true, conversion: 'v1alpha1' });
  expect(report).toMatch(/pass 6\n/);
  expect(kindsIn('webhooks.yaml')).toEqual([
    'Service',
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
  ]);
});

test.for([
  [{ name: 'My_Cache' }, 'a controller cannot be called "My_Cache"'],
  [{ group: 'cache' }, '--group "cache" cannot be used: it must look like cache.example.com'],
  [{ kind: 'memcached' }, '--kind "memcached" cannot be used: it must look like Memcached'],
  [{ apiVersion: '1' }, '--api-version "1" cannot be used: it must look like v1alpha1'],
  [{ conversion: 'old' }, '--conversion "old" cannot be used: it must look like v1alpha1'],
  [{ conversion: 'v1alpha1' }, 'it must be another version than --api-version'],
] as const)('%o is refused', async ([change, message]) => {
  await expect(newControllerProject({ ...options(), ...change })).rejects.toThrow(message);
});
