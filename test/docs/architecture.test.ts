import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
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
      'src/annex.ts': "export { runProgram } from './cli/program.ts';\n",
      'src/apiserver/storage/upward.ts': "export type { FilterChain } from '../filters/chain.ts';\n",
      'src/providers/stranger.ts': "export type { Pod } from '../kube/types.ts';\n",
    });
    expect(status).not.toBe(0);
    expect(output).toMatch(/no-circles: src\/base\/(latch|emitter)\.ts/);
    expect(output).toContain('room-podworkers: src/podworkers/state.ts → src/pods/pods-controller.ts');
    expect(output).toContain('room-kube: src/kube/names.ts → src/agent/agent.ts');
    expect(output).toContain('the-library-without-the-command: src/annex.ts → src/cli/program.ts');
    expect(output).toContain('floor-apiserver-storage: src/apiserver/storage/upward.ts');
    expect(output).toContain('room-without-a-row: src/providers/stranger.ts');
  },
);

const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');

interface Rule {
  readonly name: string;
  readonly comment: string;
}
const { forbidden } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as {
  forbidden: Rule[];
};
/** Each room and what it may import, from the ground up. */
const rooms = forbidden
  .filter(({ name }) => name.startsWith('room-') && name !== 'room-without-a-row')
  .map(({ comment }) => {
    const [, room = '', may = ''] = /^src\/(\S+) may import (.*)$/.exec(comment) ?? [];
    return [room, may === 'nothing' ? [] : may.split(', ')] as const;
  });

/** The words of the page for several rooms. */
const words: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  ground: ['base', 'go', 'kube'],
  contract: ['base', 'go', 'kube', 'provider'],
  engines: rooms
    .map(([room]) => room)
    .slice(
      rooms.findIndex(([room]) => room === 'options'),
      rooms.findIndex(([room]) => room === 'nodeshutdown') + 1,
    ),
  'containers/*': rooms.map(([room]) => room).filter((room) => room.startsWith('containers/')),
};

test('the table of rooms says what the rows of the import rules say, in the same order', () => {
  const table = [...page.matchAll(/^\| `([a-z/]+)` +\| ([^|]+?) +\| ([^|]+?) +\|$/gm)];
  expect(table.map(([, room]) => room)).toEqual(rooms.map(([room]) => room));
  for (const [index, [, room = '', purpose = '', may = '']] of table.entries()) {
    expect(purpose, room).not.toBe('undefined');
    const above = rooms.slice(0, index).map(([name]) => name);
    const named =
      may === 'all of the above' ? above : may.split(', ').flatMap((word) => words[word] ?? [word]);
    expect(named.toSorted(), room).toEqual(rooms[index]?.[1].toSorted());
  }
});

test('the floors inside the API server are those of the import rules', () => {
  const table = [...page.matchAll(/^\| \d +\| (`[a-z-]+`(?:, `[a-z-]+`)*) +\|/gm)].map(([, folders = '']) =>
    folders.replaceAll('`', '').split(', '),
  );
  const mayOf = (folder: string): string =>
    forbidden.find(({ name }) => name === `floor-apiserver-${folder}`)?.comment ?? '';
  expect(table).toHaveLength(8);
  for (const [index, folders] of table.entries())
    for (const folder of index === 0 ? [] : folders)
      expect(mayOf(folder)).toBe(
        `src/apiserver/${folder} may import ${table.slice(index).toReversed().flat().join(', ')} of src/apiserver`,
      );
});

test('every path that the page names is there, and each of the 20 questions has one', () => {
  const named = [...page.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect([...page.matchAll(/^\d+\. … .*\? `[\w./-]+`/gm)]).toHaveLength(20);
});

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
