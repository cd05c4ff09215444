import { expect, test } from 'vitest';
import { IndexSet } from '../../../src/controllermanager/batch/job-indexes.ts';

test('a set of indexes is read and written as the status of a Job has it', () => {
  const set = IndexSet.parse('1,3-5,7,8', 9);
  expect(String(set)).toBe('1,3-5,7,8');
  expect(String(IndexSet.parse('0-3,4,9-12', 11))).toBe('0-4,9,10');
  expect(String(IndexSet.parse('x,2', 11))).toBe('2');
  expect(set.size).toBe(6);
  expect([0, 1, 2, 3, 5, 6].map((index) => set.has(index))).toEqual([false, true, false, true, true, false]);
  expect(String(set.union(IndexSet.of([2, 6, 0])))).toBe('0-8');
  expect(set.common(IndexSet.parse('0-4', 9))).toBe(3);
  expect(set.missing(3, 9)).toEqual([0, 2, 6]);
  expect(set.missing(9, 10)).toEqual([0, 2, 6, 9]);
});

test('a set of a thousand million indexes costs no more than its runs', () => {
  const most = 2 ** 31 - 1;
  const set = IndexSet.parse(`0-999,1001-${most - 2}`, most);
  expect(set.missing(10, most)).toEqual([1000, most - 1]);
  expect(set.size).toBe(most - 2);
});
