import { expect, test } from 'vitest';
import { deepEqual } from '../../src/config/deep-equal.ts';

test.for<[unknown, unknown, boolean]>([
  [1, 1, true],
  [1, 2, false],
  [1, '1', false],
  ['', undefined, false],
  [0, null, false],
  [null, undefined, true],
  [undefined, {}, false],
  [{}, null, false],
  [{}, 1, false],
  [1, [], false],
  [{}, {}, true],
  [{}, [], false],
  [[], {}, false],
  [[], [], true],
  [[1], [1], true],
  [[1], [1, 2], false],
  [[1, 2], [1], false],
  [[1, 2], [2, 1], false],
  [[null], [undefined], true],
  [[undefined], [], false],
  [[{ a: 1 }], [{ a: 1 }], true],
  [[{ a: 1 }], [{ a: 2 }], false],
  [{ a: 1 }, { a: 1 }, true],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1, b: 1 }, false],
  [{ a: 1, b: 1 }, { a: 1 }, false],
  [{ a: 1, b: null }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: null }, { a: 1 }, false],
  [{ a: null, b: 1 }, { b: 1, c: 1 }, false],
  [{ a: { b: [1] } }, { a: { b: [1] } }, true],
  [{ a: { b: [1] } }, { a: { b: [2] } }, false],
  [{ length: 0 }, [], false],
])('%j and %j say the same: %s', ([a, b, same]) => {
  expect(deepEqual(a, b)).toBe(same);
  expect(deepEqual(b, a)).toBe(same);
});
