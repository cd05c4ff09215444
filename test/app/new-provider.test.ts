import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { providerClauses } from '../../src/conformance/index.ts';
import { newProviderProject, projectContracts } from '../../src/app/new-provider.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-new-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Has the project's `podtender` be the sources of this checkout, as an install has it be the package. */
function install(project: string, files: readonly string[]): void {
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const path = join(dir, file);
    const text = readFileSync(path, 'utf8').replaceAll(
      /from 'podtender(\/[a-z]+)?'/g,
      (_all, below: string | undefined) => `from '${join(root, 'src', below ?? '', 'index.ts')}'`,
    );
    writeFileSync(path, text);
  }
}

test.for(projectContracts)(
  'the own tests of a project of the contract %s pass as generated',
  { timeout: 60_000 },
  async (contract) => {
    const files = await newProviderProject({ name: 'my-rooms', contract, cwd: dir, version: '0.1.0' });
    const project = join(dir, 'my-rooms');
    install(project, files);
    const tests = ['provider', 'conformance'].map((name) => join(project, `test/${name}.test.ts`));
    const report = execFileSync(process.execPath, ['--test', ...tests], { encoding: 'utf8' });
    // one of its own, and one for each law
    expect(report).toMatch(new RegExp(`pass ${1 + providerClauses.length}\\n`));
    const manifest = readFileSync(join(project, 'deploy.yaml'), 'utf8');
    const kinds = parseAllDocuments(manifest).map((document) => (document.toJS() as { kind: string }).kind);
    expect(kinds).toEqual(['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Deployment']);
  },
);

test('what is generated type-checks', { timeout: 120_000 }, async () => {
  for (const contract of projectContracts) {
    const name = `my-${contract}`;
    install(join(dir, name), await newProviderProject({ name, contract, cwd: dir, version: '0.1.0' }));
  }
  const options = readFileSync(join(dir, 'my-pod/tsconfig.json'), 'utf8');
  writeFileSync(
    join(dir, 'tsconfig.json'),
    options.replace('["src", "test"]', JSON.stringify(projectContracts.map((contract) => `my-${contract}`))),
  );
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', dir, '--skipLibCheck', '--pretty', 'false'], {
    encoding: 'utf8',
    cwd: dir,
  });
  // of the sources that stand for the package here, their own settings say what is right
  expect(stdout.split('\n').filter((line) => line.startsWith('my-'))).toEqual([]);
  expect(stdout).not.toContain('error TS18003');
});

test.for(['My-Rooms', 'rooms_1', '', '../rooms', '-x'])('"%s" is no name of a provider', async (name) => {
  await expect(newProviderProject({ name, contract: 'pod', cwd: dir, version: '0.1.0' })).rejects.toThrow(
    'use lower-case letters, digits and single dashes',
  );
});

test('a folder that holds something is left alone', async () => {
  const options = { name: 'rooms', contract: 'pod', cwd: dir, version: '0.1.0' } as const;
  await newProviderProject(options);
  await expect(newProviderProject(options)).rejects.toThrow('holds something already');
});
