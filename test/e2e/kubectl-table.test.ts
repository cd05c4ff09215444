import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { kubectl } from './kubectl.ts';
import { kubectlPage } from './kubectl-table/page.ts';
import { runAll } from './kubectl-table/run.ts';

const cache = new URL('../../.cache/kubectl/', import.meta.url).pathname;
const file = new URL('../../docs/kubectl.md', import.meta.url).pathname;
const programs = ['kubectl-1.32', 'kubectl-new'].map((label) => ({ label, path: `${cache}${label}` }));
const isMissing = !programs.every(({ path }) => existsSync(path));
if (isMissing) process.stderr.write('skipped: the table of kubectl needs scripts/get-kubectl.sh\n');

/** The minor version of a kubectl, e.g. `1.32`. */
async function versionOf(program: (typeof programs)[number]): Promise<string> {
  const { stdout } = await kubectl('/dev/null', ['version', '--client', '-o', 'json'], { program });
  return /"gitVersion": "v(\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown';
}

/** A formatter pads tables and breaks lines. */
const words = (page: string): readonly string[] =>
  page.split('\n').map((line) => line.replace(/-{3,}/g, '---').replace(/\s+/g, ' ').trim());

test.skipIf(isMissing)('docs/kubectl.md says what kubectl gets', { timeout: 600_000 }, async ({ skip }) => {
  const versions = await Promise.all(programs.map(versionOf));
  const isUpdate = process.env['UPDATE'] === '1';
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (!isUpdate && !before.includes(`with kubectl ${versions.join(' and ')}.`))
    skip(`docs/kubectl.md was not written with kubectl ${versions.join(' and ')}`);
  const columns = await Promise.all(
    programs.map(async (program, at) => ({
      version: versions[at] ?? program.label,
      results: await runAll(program),
    })),
  );
  const page = kubectlPage(columns);
  if (isUpdate) writeFileSync(file, page);
  else expect(words(page)).toEqual(words(before));
});
