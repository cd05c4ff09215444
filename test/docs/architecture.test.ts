import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'architecture-'));

afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

/** Runs dependency-cruiser over a copy of the sources, with `planted` written after what each file holds. */
function cruise(planted: Readonly<Record<string, string>>): {
  readonly status: number | null;
  readonly output: string;
} {
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true, force: true });
  for (const file of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs'])
    cpSync(join(root, file), join(copy, file));
  if (!existsSync(join(copy, 'node_modules')))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const [file, text] of Object.entries(planted)) {
    const path = join(copy, file);
    writeFileSync(path, (existsSync(path) ? readFileSync(path, 'utf8') : '') + text);
  }
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const options = ['src', '--config', '.dependency-cruiser.cjs', '--output-type', 'err'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...options], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { status, output: stdout + stderr };
}

test(
  'a circle, a type from a room above, and a room of its own making are all found',
  { timeout: 120_000 },
  () => {
    const { status, output } = cruise({
      'src/base/latch.ts': "export type { Emitter } from './emitter.ts';\n",
      'src/base/emitter.ts': "export type { Latch } from './latch.ts';\n",
      'src/podworkers/state.ts': "export type { PodsController } from '../pods/pods-controller.ts';\n",
      'src/kube/names.ts': "export { Agent } from '../agent/agent.ts';\n",
      'src/annex.ts': "export { startAgent } from './app/compose.ts';\n",
      'src/providers/stranger.ts': "export type { Pod } from '../kube/types.ts';\n",
    });
    expect(status).not.toBe(0);
    expect(output).toMatch(/no-circles: src\/base\/(latch|emitter)\.ts/);
    expect(output).toContain('room-podworkers: src/podworkers/state.ts → src/pods/pods-controller.ts');
    expect(output).toContain('room-kube: src/kube/names.ts → src/agent/agent.ts');
    expect(output).toContain('the-library-without-the-command: src/annex.ts → src/app/compose.ts');
    expect(output).toContain('room-without-a-row: src/providers/stranger.ts');
  },
);

/** Folders of test that belong to no room: what they hold goes through the whole. */
const across =
  /^(docs|e2e|golden|scenarios|support|attacks|types|interop|conformance|apiserver|apimachinery)\//;

test('each test file of a room is named after the module that it tests: module.test.ts or module.aspect.test.ts', () => {
  const strays = globSync('**/*.test.ts', { cwd: join(root, 'test') }).filter((file) => {
    const module = join(root, 'src', file.replace(/\.test\.ts$/, ''));
    return (
      !across.test(file) && !existsSync(`${module}.ts`) && !existsSync(module.replace(/\.[^./]+$/, '.ts'))
    );
  });
  expect(strays).toEqual([]);
});
