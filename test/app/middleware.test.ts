import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { middlewareFactory } from '../../src/app/middleware.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod } from '../../src/kube/types.ts';
import type { Middleware } from '../../src/middleware/index.ts';

const cwd = mkdtempSync(join(tmpdir(), 'podtender-middleware-'));
// by Node itself, not by the test runner
writeFileSync(join(cwd, 'load.cjs'), 'exports.load = (url) => import(url);');
const { load } = createRequire(import.meta.url)(join(cwd, 'load.cjs')) as {
  readonly load: (url: string) => Promise<unknown>;
};
afterAll(() => {
  rmSync(cwd, { recursive: true });
});
const file = (name: string, text: string): string => {
  writeFileSync(join(cwd, name), text);
  return `./${name}`;
};
const make = async (...sources: readonly string[]): Promise<readonly Middleware[]> =>
  middlewareFactory(sources, { cwd, load })({
    nodeName: 'n',
    rootDir: cwd,
    clock: new FakeClock(),
    logger: silentLogger,
  });

test('modules and settings files make one chain, in the order of the flags', async () => {
  const one = file('one.mjs', "export default { name: 'one', podStatus: () => undefined };");
  const made = file(
    'made.mjs',
    'export default ({ nodeName }, settings) => [{ name: `${nodeName} ${JSON.stringify(settings)}`, podStatus: () => undefined }];',
  );
  const list = file(
    'list.yaml',
    'middleware:\n- name: envImport\n  settings: { limits: true }\n- module: ./made.mjs\n  settings: { a: 1 }\n',
  );
  const chain = await make(one, list, made);
  expect(chain.map(({ name }) => name)).toEqual(['one', 'envImport', 'n {"a":1}', 'n undefined']);
});

describe('what is wrong is named', () => {
  const cases: [string, () => string, string][] = [
    [
      'a file that is not there',
      () => './none.mjs',
      `--middleware ./none.mjs: there is no file ${cwd}/none.mjs`,
    ],
    [
      'a package that is not there',
      () => 'no-such-package-of-hooks',
      '--middleware no-such-package-of-hooks: there is no such file, and no package of that name is installed',
    ],
    [
      'a module that cannot be read',
      () => file('bad.mjs', 'export default {'),
      '--middleware ./bad.mjs: the module cannot be loaded: Unexpected',
    ],
    [
      'a module that throws',
      () => file('throws.mjs', "export default () => { throw new Error('no key'); };"),
      '--middleware ./throws.mjs: no key',
    ],
    [
      'a module without hooks',
      () => file('none.mjs2.mjs', 'export const a = 1;'),
      "the module's default export must be a middleware",
    ],
    ['a file without a list', () => file('a.yaml', 'hooks: []'), 'a.yaml: must hold a list `middleware`'],
    ['a file that is no YAML', () => file('b.yaml', '{'), 'b.yaml: '],
    [
      'an entry with both',
      () => file('c.yaml', 'middleware: [{ name: a, module: b }]'),
      'middleware[0]: must have either a name or a module',
    ],
    [
      'an entry with a typo',
      () => file('d.yaml', 'middleware: [{ name: a, setting: {} }]'),
      'middleware[0].setting: is no setting; it has name or module, and settings',
    ],
    [
      'an unknown name',
      () => file('e.yaml', 'middleware: [{ name: envimport }]'),
      '"envimport" is unknown; known are envImport',
    ],
    [
      'a standalone agent',
      () => file('f.yaml', 'middleware: [{ name: configRender }]'),
      'configRender needs an API server, and this agent is standalone',
    ],
  ];
  test.each(cases)('%s', async (_, source, message) => {
    await expect(make(source())).rejects.toThrow(message);
  });
});

test('the examples of the guide work', async () => {
  const guide = readFileSync(new URL('../../docs/middleware.md', import.meta.url), 'utf8');
  for (const [, name = '', text = ''] of guide.matchAll(/```\w+\n(?:\/\/|#) (\S+)\n([\s\S]*?)```/g))
    file(name, text);
  const chain = await make('./middleware.yaml');
  expect(chain.map(({ name }) => name)).toEqual(['imageAllowList', 'envImport', 'stamp']);
  const stamp = chain[2];
  const pod = (hostPID: boolean): Pod => ({ spec: { hostPID, containers: [] } });
  const { signal } = new AbortController();
  expect(await stamp?.podAddition?.({ pod: pod(true), signal })).toMatchObject({
    refuse: { reason: 'HostPIDForbidden' },
  });
  expect(await stamp?.podAddition?.({ pod: pod(false), signal })).toBeUndefined();
});

test('one that ships is named without a file, with or without settings', async () => {
  const chain = await make('imageAllowList', 'envImport={"limits":true}');
  expect(chain.map(({ name }) => name)).toEqual(['imageAllowList', 'envImport']);
  await expect(make('envImport={limits')).rejects.toThrow(
    /--middleware envImport: the settings are not JSON/,
  );
  await expect(make('envImport={"limit":true}')).rejects.toThrow(/--middleware envImport.settings/);
});
