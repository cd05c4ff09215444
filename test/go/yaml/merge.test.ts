import { expect, test } from 'vitest';
import { parseDocument } from '../../../src/go/yaml/document.ts';

test('merges that refer to merges are resolved once each, however often they are referred to', () => {
  const levels = Array.from({ length: 40 }, (_, i) => `l${i + 1}: &l${i + 1} {x: 0, <<: [*l${i}, *l${i}]}`);
  const parsed = parseDocument(['l0: &l0 {k: 1}', ...levels].join('\n'));
  expect(parsed.ok).toBe(false); // too many aliases to expand, which is found without expanding them
});

test('a mapping with thousands of merges is read key by key', () => {
  const text = Array.from({ length: 3000 }, (_, i) => `k${i}: 0\n<<: {k${i}: 1}\n`).join('');
  const parsed = parseDocument(text);
  expect(parsed.ok && parsed.document.value).toMatchObject({ k0: 1, k2999: 1 });
});

test('a mapping may merge itself', () => {
  const parsed = parseDocument('a: &a {x: 1, <<: *a}');
  expect(parsed.ok).toBe(false);
});
