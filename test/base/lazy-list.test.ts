import { expect, test } from 'vitest';
import { lazyList } from '../../src/base/lazy-list.ts';

test('a lazy list is made once, when it is looked into, and is an array then', () => {
  let makes = 0;
  const list = lazyList(() => {
    makes += 1;
    return ['a', 'b'];
  });
  expect(Array.isArray(list)).toBe(true);
  expect(makes).toBe(0);
  expect(list).toHaveLength(2);
  expect([...list]).toEqual(['a', 'b']);
  expect(list.map((one) => one.toUpperCase())).toEqual(['A', 'B']);
  expect(list[1]).toBe('b');
  expect(1 in list).toBe(true);
  expect(Object.keys(list)).toEqual(['0', '1']);
  expect(JSON.stringify(list)).toBe('["a","b"]');
  expect(list).toEqual(['a', 'b']);
  expect(makes).toBe(1);
});
