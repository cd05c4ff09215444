import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expand } from '../../src/kube/expansion.ts';
import { expandSubPath } from '../../src/kube/sub-path-expr.ts';

const piece = fc.constantFrom('$', '(', ')', '$(A)', '$(B)', '$$', 'x', '$(', 'A');
const texts = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

test('what a variable holds is never expanded again, so a variable may name itself', () => {
  expect(expand('$(A)', () => '$(A)$(A)')).toBe('$(A)$(A)');
});

test('expansion ends, and grows by the values alone', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const count = text.split('$(').length - 1;
      expect(expand(text, () => 'vv').length).toBeLessThanOrEqual(text.length + 2 * count);
    }),
  );
});

test('without any known name and without $$ a text stays as it is', () => {
  fc.assert(
    fc.property(
      texts.filter((text) => !text.includes('$$')),
      (text) => {
        expect(expand(text, () => undefined)).toBe(text);
      },
    ),
  );
});

test('a path names every variable that has no value', () => {
  expect(() => expandSubPath('$(B)/$(A)/$(B)', () => undefined)).toThrow('missing value for A, B');
  expect(expandSubPath('$(A)/x', () => 'v')).toBe('v/x');
});
