import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/controller-behaviours.md');

interface Behaviour {
  readonly folder: string;
  readonly file: string;
  readonly title: string;
}

const titlePattern =
  /\b(describe|test)(?:\.for\([^]*?\)|\.each\([^]*?\))?\(\s*(['"`])((?:\\.|(?!\2)[^\\])*)\2/g;

/** The behaviours that a file tests: its titles without their numbers, each after the title of its group. */
function behavioursIn(path: string): readonly Behaviour[] {
  const [folder = '', file = ''] = path.includes('/') ? path.split('/') : ['', path];
  let group = '';
  return [...readFileSync(join(root, 'test/controller', path), 'utf8').matchAll(titlePattern)].flatMap(
    ([, kind, , text = '']) => {
      const title = text
        .replaceAll(/\\(.)/g, '$1')
        .replaceAll(/%[sio]|\$\w+/g, '…')
        .replace(/^\d+[a-z]?\.? /, '');
      if (kind === 'describe') {
        group = title;
        return [];
      }
      return [{ folder, file, title: group === '' || group === folder ? title : `${group}: ${title}` }];
    },
  );
}

const files = readdirSync(join(root, 'test/controller'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .sort();
const behaviours = files.flatMap(behavioursIn);

async function pageOf(): Promise<string> {
  const folders = [...new Set(behaviours.map(({ folder }) => folder))].sort();
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  const text = [
    '# What `podtender/controller` does, test by test',
    '',
    `${behaviours.length} behaviours, each a test below \`test/controller\`, by package as controller-runtime has them. A test writes this page from the titles: \`UPDATE=1 npx vitest run test/docs\`.`,
    ...folders.flatMap((folder) => [
      '',
      `## ${folder === '' ? 'builder, kinds, reconcile and types' : folder}`,
      '',
      '| behaviour | test |',
      '| --- | --- |',
      ...behaviours
        .filter((one) => one.folder === folder)
        .map(({ title, file }) => `| ${cell(title)} | \`${file.replace('.test.ts', '')}\` |`),
    ]),
    '',
  ].join('\n');
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' });
}

test('docs/controller-behaviours.md lists every test of the controller library, at least 150', async () => {
  const text = await pageOf();
  if (process.env['UPDATE'] === '1') writeFileSync(page, text);
  expect(behaviours.length).toBeGreaterThanOrEqual(150);
  expect(readFileSync(page, 'utf8')).toBe(text);
});
