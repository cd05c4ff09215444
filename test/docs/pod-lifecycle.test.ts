import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/pod-lifecycle.md'), 'utf8');

test('every rule stands on the page, once and in order', () => {
  const numbers = [...page.matchAll(/\*\*R(\d+) \([MSN]\)\*\*/g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: 282 }, (_, i) => i + 1));
});

test('every edge of the drawing is in both pictures and in the table', () => {
  const [mermaid = '', ascii = ''] = [...page.matchAll(/```(?:mermaid|text)\n([\s\S]*?)```/g)].map(
    ([, text]) => text,
  );
  const edges = Array.from({ length: 24 }, (_, i) => `T${i + 1}`);
  for (const edge of edges) {
    const name = new RegExp(`\\b${edge}\\b`);
    expect(mermaid, edge).toMatch(name);
    expect(ascii, edge).toMatch(name);
    expect(page, edge).toMatch(new RegExp(`^\\| ${edge} +\\|`, 'm'));
  }
});

test('no source cites a rule that the page does not have', async () => {
  for await (const file of glob('src/**/*.ts', { cwd: root })) {
    const text = await readFile(join(root, file), 'utf8');
    for (const [, number] of text.matchAll(/\bR(\d{1,3})\b/g))
      expect(Number(number), `${file} cites R${number}`).toBeLessThanOrEqual(282);
  }
});
