import { expect, test } from 'vitest';
import { semanticEqual } from '../../../src/controller/controllerutil/semantic-equal.ts';

test.each([
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: 1 }, { a: 1, b: null }, true],
  [{ a: [] }, {}, true],
  [{ metadata: { labels: {} } }, { metadata: {} }, true],
  [{ volumes: [{ emptyDir: {} }] }, { volumes: [{}] }, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: { b: { c: 'x' } } }, { a: { b: { c: 'y' } } }, false],
  [{ a: 0 }, { a: false }, false],
  [{ a: 0 }, {}, false],
  [{ a: '' }, {}, false],
  [[{ a: 1 }], [{ a: 1 }], true],
  [{ a: [1] }, { a: { 0: 1 } }, false],
])('%# %j and %j: %s', (one, other, equal) => {
  expect(semanticEqual(one, other)).toBe(equal);
  expect(semanticEqual(other, one)).toBe(equal);
});
