import { expect, test } from 'vitest';
import { Recent } from '../../src/base/recent.ts';

test('what was longest out of use goes, and is told of; a look is no use', () => {
  const recent = new Recent<number>(2);
  expect([recent.set('a', 1), recent.set('b', 2), recent.set('a', 3)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(recent.set('c', 4)).toBe(2);
  expect(recent.get('a')).toBe(3);
  expect(recent.peek('c')).toBe(4);
  expect(recent.set('d', 5)).toBe(4);
  recent.delete('a');
  expect(recent.set('e', 6)).toBeUndefined();
  expect(['a', 'b', 'c', 'd', 'e'].map((key) => recent.peek(key))).toEqual([
    undefined,
    undefined,
    undefined,
    5,
    6,
  ]);
});
