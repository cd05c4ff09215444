import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const guide = readFileSync(join(root, 'docs/providers.md'), 'utf8');
const blocks = [...guide.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);

/** The block as a program of this checkout. */
const asProgram = (code: string): string =>
  code.replaceAll(/from 'podtender(\/[a-z]+)?'/g, (_all, below: string | undefined) => {
    return `from '${join(root, 'src', below ?? '', 'index.ts')}'`;
  });

/** What each block prints, as the guide says. */
const printed: readonly RegExp[] = [
  /^ready at https:\/\/127\.0\.0\.1:\d+\n$/,
  /^$/, // makes no node by itself
  /^throttled\n$/,
  /^volume "data" of kind hostPath, the livenessProbe by httpGet of container "main"\n$/,
  /^2026-03-04T05:06:09\.000Z it broke\n$/,
];

test('each block of the guide is known here', () => {
  expect(blocks).toHaveLength(printed.length);
});

test.for(printed.map((wanted, index) => ({ wanted, index })))(
  'block $index of docs/providers.md runs and prints what it says',
  { timeout: 40_000 },
  ({ wanted, index }) => {
    const dir = mkdtempSync(join(tmpdir(), 'pt-guide-'));
    try {
      const file = join(dir, 'block.mts');
      writeFileSync(file, asProgram(blocks[index] ?? ''));
      const said = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(said).toMatch(wanted);
    } finally {
      rmSync(dir, { recursive: true });
    }
  },
);
