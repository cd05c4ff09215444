import { expect, test } from 'vitest';
import { hasMembers, memberCount } from '../../src/base/members-of.ts';

test.for<[object, number]>([
  [{}, 0],
  [{ a: undefined }, 1],
  [{ a: 1, b: 2 }, 2],
  [Object.create(null) as object, 0],
])('%o has %i members', ([object, count]) => {
  expect([hasMembers(object), memberCount(object)]).toEqual([count > 0, count]);
});
