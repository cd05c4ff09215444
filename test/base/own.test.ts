import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownMember, setOwn, tableOf } from '../../src/base/own.ts';

/** Every name that an object inherits. */
const inherited = Object.getOwnPropertyNames(Object.prototype);

test.for(inherited)('%s is a member only where somebody put it', (name) => {
  expect(ownMember({}, name)).toBeUndefined();
  expect(tableOf<Record<string, number>>({ a: 1 })[name]).toBeUndefined();
  const holder: Record<string, string> = {};
  setOwn(holder, name, 'x');
  expect(ownMember(holder, name)).toBe('x');
  expect(Object.keys(holder)).toEqual([name]);
  expect(Object.getPrototypeOf(holder)).toBe(Object.prototype);
});

test('what is set is found, and nothing else', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom(...inherited));
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.integer())), key, (pairs, other) => {
      const holder: Record<string, number> = {};
      for (const [name, value] of pairs) setOwn(holder, name, value);
      const map = new Map(pairs);
      for (const [name, value] of map) expect(ownMember(holder, name)).toBe(value);
      expect(ownMember(holder, other)).toBe(map.get(other));
    }),
  );
});

test('nothing has no members', () => {
  expect(ownMember(undefined, 'a')).toBeUndefined();
});
