import { expect, test } from 'vitest';
import { countIndexes, sharedIndex } from '../../../../src/apiserver/registry/batch/index-intervals.ts';

test.for([
  ['', { total: 0 }],
  ['0,2-4', { total: 4 }],
  ['4-2', { total: 0, why: 'non-increasing order, previous: 4, current: 2' }],
  ['1,1', { total: 0, why: 'non-increasing order, previous: 1, current: 1' }],
  ['5', { total: 0, why: 'too large index: "5"' }],
  ['a', { total: 0, why: 'cannot convert string to integer for index: "a"' }],
  [
    '1-2-3',
    {
      total: 0,
      why: 'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
    },
  ],
] as const)('%j of five indexes', ([text, count]) => {
  expect(countIndexes(text, 5)).toEqual(count);
});

test('two lists share the first common index; unreadable parts are skipped', () => {
  expect(sharedIndex('0-2,4', '3,4', 5)).toBe(4);
  expect(sharedIndex('0,x,3', '1,2', 5)).toBeUndefined();
});
