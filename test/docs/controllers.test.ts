import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/controllers.md'), 'utf8');
const blocks = [...guide.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);

const sources: Readonly<Record<string, string>> = { '/controller/envtest': 'envtest' };

/** The block as a program of this checkout. */
const asProgram = (code: string): string =>
  code.replaceAll(
    /from 'podtender([/a-z]+)'/g,
    (_all, below: string) => `from '${join(root, 'src', sources[below] ?? below, 'index.ts')}'`,
  );

/** What each block prints, as the guide says. */
const printed: readonly (readonly [what: string, output: string])[] = [
  ['a controller', 'ConfigMap of namespace shop created\n{"team":"blue"}\n'],
  ['a kind', 'crontabs\n'],
  [
    'a webhook',
    'admission webhook "crontabs.example.com" denied the request: spec.schedule: five fields are required\ntrue\n',
  ],
  ['a certificate', ''],
  [
    'a conversion',
    '{"apiVersion":"stable.example.com/v2","kind":"CronTab","spec":{"schedules":["* * * * *"]}}\n',
  ],
  [
    'conditions, a retry and logs',
    'true false\nStarting\ntrue\n{"level":30,"reconcileID":"1","replicas":3,"msg":"scaled"}\n',
  ],
  ['a fake client', 'owner\n'],
  ['a driver', 'shop create { requeueAfter: 60000 }\n1 requeue 1\n'],
];

test('each block of the guide is known here', () => {
  expect(blocks).toHaveLength(printed.length);
});

test.for(printed.map(([what, output], index) => ({ what, output, index })))(
  'block $index of docs/controllers.md, $what, runs and prints what it says',
  { timeout: 40_000 },
  ({ output, index }) => {
    const dir = mkdtempSync(join(tmpdir(), 'pt-guide-'));
    try {
      symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
      const file = join(dir, 'block.mts');
      writeFileSync(file, asProgram(blocks[index] ?? ''));
      const said = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(said).toBe(output);
    } finally {
      rmSync(dir, { recursive: true });
    }
  },
);
