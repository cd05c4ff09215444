import { expect, test } from 'vitest';
import { type Members, RecurringSet } from '../../src/base/members.ts';

const itself = (value: string): string => value;

test.each([
  { before: [], now: ['a', 'b'] },
  { before: ['a', 'b'], now: ['a', 'b'] },
  { before: ['a', 'b'], now: ['b', 'c'] },
  { before: ['a', 'b'], now: ['b'] },
  { before: ['a', 'b'], now: [] },
  { before: ['a', 'b'], now: ['b', 'b', 'c'] },
  { before: ['a'], now: ['b', 'b'] },
])('after $before its members are $now', ({ before, now }) => {
  const set = new RecurringSet().refill(before, itself);
  expect(set.refill(now, itself)).toBe(set);
  expect(['a', 'b', 'c'].filter((key) => set.has(key))).toEqual([...new Set(now)]);
  expect(set.size).toBe(new Set(now).size);
});

test('sets and maps tell their members', () => {
  const told: readonly Members[] = [
    new RecurringSet().refill(['a'], itself),
    new Set(['a']),
    new Map([['a', 1]]),
  ];
  for (const one of told) expect([one.has('a'), one.has('b')]).toEqual([true, false]);
});
