import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { optionsPage } from '../../scripts/options-page.ts';

test('docs/options.md lists exactly the settings that there are (node scripts/options-page.ts writes it)', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/options.md'), 'utf8');
  expect(words(page)).toEqual(words(optionsPage()));
});

/** A formatter may pad tables and wrap nothing else. */
const words = (page: string): string[] =>
  page.split('\n').map((line) => line.replace(/-{3,}/g, '---').replace(/\s+/g, ' ').trim());
