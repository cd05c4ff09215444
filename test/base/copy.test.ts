import { expect, test } from 'vitest';
import { copyOf } from '../../src/base/copy.ts';

test('a copy shares nothing with its original', () => {
  const original = { a: [{ b: 1 }, null, 'c'], d: { e: undefined, f: true }, at: new Date(5) };
  const copy = copyOf(original);
  expect(copy).toEqual(original);
  expect(copy.a).not.toBe(original.a);
  expect(copy.a[0]).not.toBe(original.a[0]);
  expect(copy.d).not.toBe(original.d);
  expect(copy.at).not.toBe(original.at);
});

test('instances of classes become plain objects, and a member __proto__ stays a member', () => {
  class Pod {
    readonly metadata = { name: 'web' };
  }
  expect(Object.getPrototypeOf(copyOf(new Pod()))).toBe(Object.prototype);
  expect(copyOf(new Pod())).toEqual({ metadata: { name: 'web' } });
  const hostile = JSON.parse('{"__proto__":{"polluted":true}}') as object;
  const copy = copyOf(hostile);
  expect(Object.keys(copy)).toEqual(['__proto__']);
  expect((copy as { polluted?: boolean }).polluted).toBeUndefined();
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('circles end, and functions are refused as structuredClone refuses them', () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(copyOf(circle)).toHaveProperty('self.self.self');
  expect(() => copyOf({ f: () => 1 })).toThrow('could not be cloned');
});
