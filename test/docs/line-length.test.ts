import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pages = [
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

test('no line of a page is longer than 320 characters, rows of tables included', () => {
  const long = pages.flatMap((page) =>
    readFileSync(join(root, page), 'utf8')
      .split('\n')
      .flatMap((line, index) => (line.length > 320 ? [`${page}:${index + 1}: ${line.length}`] : [])),
  );
  expect(pages.length).toBeGreaterThan(20);
  expect(long).toEqual([]);
});
