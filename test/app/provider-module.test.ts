import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { providerFactory } from '../../src/app/provider-module.ts';
import type { PodProvider } from '../../src/provider/provider.ts';

const cwd = mkdtempSync(join(tmpdir(), 'provider-module-'));
afterAll(() => {
  rmSync(cwd, { recursive: true, force: true });
});

// the import of Node itself, not that of the test runner
writeFileSync(join(cwd, 'load.cjs'), 'exports.load = (url) => import(url);');
const { load } = createRequire(import.meta.url)(join(cwd, 'load.cjs')) as {
  readonly load: (url: string) => Promise<unknown>;
};
const methods = 'async syncPod() {}, async killPod() {}, async listPods() {}, async getPodStatus() {}';
const classBody = methods.replaceAll('},', '}');
let files = 0;

async function made(text: string, form = (name: string) => `./${name}`): Promise<PodProvider> {
  const name = `p${(files += 1)}.mjs`;
  writeFileSync(join(cwd, name), text);
  const make = await providerFactory(form(name), { cwd, load });
  return make({ nodeName: 'n' });
}

describe('a module makes a provider', () => {
  test.for<readonly [string, string]>([
    ['as its default', `export default { name: 'a', ${methods} }`],
    [
      'by its default class',
      `export default class { constructor({ nodeName }) { this.name = nodeName; } ${classBody} }`,
    ],
    ['by its default function', `export default async ({ nodeName }) => ({ name: nodeName, ${methods} })`],
    [
      'that it registers, with the package found though it is not installed there',
      `import { registerProvider } from 'podtender/provider'; registerProvider('r1', ({ nodeName }) => ({ name: nodeName, ${methods} }));`,
    ],
  ])('%s', async ([, text]) => {
    expect((await made(text)).name).toMatch(/^[an]$/);
  });

  test('by a file: URL, and by its full path', async () => {
    const text = `export default { name: 'a', ${methods} }`;
    expect((await made(text, (name) => pathToFileURL(join(cwd, name)).href)).name).toBe('a');
    expect((await made(text, (name) => join(cwd, name))).name).toBe('a');
  });

  test('as a package of the user', async () => {
    const home = join(cwd, 'node_modules/@me/rooms');
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, 'package.json'),
      '{"name":"@me/rooms","type":"module","exports":{"import":"./main.js"}}',
    );
    writeFileSync(join(home, 'main.js'), `export default { name: 'rooms', ${methods} }`);
    const make = await providerFactory('@me/rooms', { cwd, load });
    expect((await make({})).name).toBe('rooms');
  });

  test('by name, where it registers several', async () => {
    const several = `import { registerProvider } from 'podtender/provider'; for (const name of ['x', 'y']) registerProvider(name, () => ({ name, ${methods} }));`;
    expect((await made(several, (name) => `./${name}#y`)).name).toBe('y');
    await expect(made(several.replace("'x', 'y'", "'v', 'w'"))).rejects.toThrow(
      'the module registers several providers; name one of them, as in #v; it registers v, w',
    );
  });
});

describe('a module is refused', () => {
  test.for<readonly [string, RegExp]>([
    [
      'export const a = 1',
      /: the module neither exports a provider as its default nor calls registerProvider/,
    ],
    [
      "export default { name: 'a', syncPod() {} }",
      /: the provider lacks the methods killPod, listPods, getPodStatus$/,
    ],
    [`export default { ${methods} }`, /: the provider lacks `name`/],
    ['export default () => 1', /: what it makes is no provider$/],
    ["export default () => { throw new Error('no rooms') }", /: the provider cannot be made: no rooms$/],
    ["throw new Error('boom')", /: the module cannot be loaded: boom$/],
    ['no code', /: the module cannot be loaded: .*/],
    ["import 'no-such-package'", /: the module cannot be loaded: Cannot find package 'no-such-package'/],
  ])('%s', async ([text, fault]) => {
    await expect(made(text)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^--provider \\./p\\d+\\.mjs${fault.source}`)) as string,
    });
  });

  test.for<readonly [string, string]>([
    ['./none.mjs', `--provider ./none.mjs: there is no file ${join(cwd, 'none.mjs')}`],
    ['memry', 'an installed package; did you mean memory?'],
    ['@me/none', '--provider @me/none: there is no such provider: it is process, oci, memory, cri, eci,'],
  ])('%s', async ([name, text]) => {
    await expect(providerFactory(name, { cwd, load })).rejects.toThrow(text);
  });
});
