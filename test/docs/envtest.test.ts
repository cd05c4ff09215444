import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = new URL('../..', import.meta.url).pathname;
const page = readFileSync(join(root, 'docs/envtest.md'), 'utf8');

/** Returns the code blocks of the page in a language. */
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: rooms.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: rooms, kind: Room }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
`;

let dir: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-docs-'));
  for (const folder of ['config/crd/bases', 'config/webhook', 'path'])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'config/crd/bases/rooms.yaml'), crd);
  writeFileSync(join(dir, 'config/webhook/manifests.yaml'), '');
  const command = `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'bin/podtender.mjs')}' "$@"\n`;
  writeFileSync(join(dir, 'path/podtender'), command, { mode: 0o755 });
  env = {
    ...process.env,
    PATH: `${join(dir, 'path')}${delimiter}${process.env['PATH'] ?? ''}`,
    NODE_OPTIONS: '',
  };
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test.each(blocks('ts').map((code) => [code.split('\n')[0], code]))('%s', (_, code = '') => {
  const file = join(dir, 'example.mts');
  const local = code
    .replace("'podtender/controller/envtest'", `'${join(root, 'src/envtest/index.ts')}'`)
    .replace("'podtender/apiserver'", `'${join(root, 'src/apiserver/index.ts')}'`);
  writeFileSync(file, local);
  const own = { ...env, KUBEBUILDER_ASSETS: '', USE_EXISTING_CLUSTER: '' };
  const { status, stderr } = spawnSync(process.execPath, [file], { cwd: dir, env: own, encoding: 'utf8' });
  expect(stderr.replace(/^.*ExperimentalWarning.*\n.*trace-warnings.*\n/m, '')).toBe('');
  expect(status).toBe(0);
});

test('the launchers are written as the page says', () => {
  const line = blocks('sh')
    .flatMap((code) => code.split('\n'))
    .find((one) => one.startsWith('podtender envtest-assets ./'));
  execFileSync('sh', ['-c', line ?? 'false'], { cwd: dir, env });
  for (const name of ['kube-apiserver', 'etcd', 'kubectl'])
    expect(existsSync(join(dir, 'bin/k8s', name))).toBe(true);
});

const python = spawnSync('python3', ['-c', 'import kubernetes']).status === 0;
test.skipIf(!python)('the Python example lists the namespaces', () => {
  const [code = ''] = blocks('python');
  const { stdout, stderr } = spawnSync('python3', ['-c', code], { cwd: dir, env, encoding: 'utf8' });
  expect(stdout.trim().split('\n'), stderr).toContain('kube-system');
});
