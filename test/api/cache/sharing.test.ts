import { expect, test } from 'vitest';
import { sharedWith } from '../../../src/api/cache/sharing.ts';

const parsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('what says exactly the same becomes the very same', () => {
  const kept = { spec: { containers: [{ name: 'c', ports: [1, null] }] } };
  expect(sharedWith(parsed(kept), kept)).toBe(kept);
});

test('what differs keeps its own, and shares the rest', () => {
  const kept = {
    metadata: { labels: { app: 'a' }, version: '1' },
    spec: { containers: [{ name: 'c' }, { name: 'd' }] },
  };
  const next = {
    metadata: { labels: { app: 'a' }, version: '2' },
    spec: { containers: [{ name: 'c' }, { name: 'e' }, { name: 'f' }] },
  };
  const fresh = parsed(next) as typeof kept;
  const shared = sharedWith(fresh, kept);
  expect(shared).toBe(fresh);
  expect(shared).toEqual(next);
  expect(shared.metadata.labels).toBe(kept.metadata.labels);
  expect(shared.spec.containers[0]).toBe(kept.spec.containers[0]);
  expect(shared.spec.containers[1]).not.toBe(kept.spec.containers[1]);
  expect(kept).toEqual({
    metadata: { labels: { app: 'a' }, version: '1' },
    spec: { containers: [{ name: 'c' }, { name: 'd' }] },
  });
});

test.each([
  ['a member more', { a: 1, b: 2 }, { a: 1 }],
  ['a member less', { a: 1 }, { a: 1, b: 2 }],
  ['an item more', { list: [1, 2] }, { list: [1] }],
  ['an item less', { list: [1] }, { list: [1, 2] }],
  ['null and absent', { a: null }, {}],
  ['null and an object', { a: null }, { a: {} }],
  ['an object and a list', { a: {} }, { a: [] }],
  ['a list and an object', { a: [] }, { a: {} }],
  ['a number and its text', { a: 1 }, { a: '1' }],
  ['a member named as one that every object has', { toString: 1 }, {}],
])('%s are not the same', (_, next, kept) => {
  const before = JSON.stringify(kept);
  expect(JSON.stringify(sharedWith(parsed(next), kept))).toBe(JSON.stringify(next));
  expect(JSON.stringify(kept)).toBe(before);
});

test('a key __proto__ finds no prototype', () => {
  const fresh = JSON.parse('{"a":1,"__proto__":{}}') as object;
  expect(JSON.stringify(sharedWith(fresh, { a: 1 }))).toBe('{"a":1,"__proto__":{}}');
  expect(Object.getPrototypeOf(fresh)).toBe(Object.prototype);
});

test('what is frozen is left alone', () => {
  const kept = { a: { b: 1 }, c: 1 };
  const fresh = Object.freeze({ a: { b: 1 }, c: 2 });
  expect(sharedWith(fresh, kept)).toBe(fresh);
  expect(fresh.a).not.toBe(kept.a);
});

test('what a version before did not say is shared with another object', () => {
  const before = { metadata: { name: 'a' }, status: { phase: 'Pending' } };
  const other = { metadata: { name: 'b' }, status: { phase: 'Running', conditions: [{ type: 'Ready' }] } };
  const next = { metadata: { name: 'a' }, status: { phase: 'Running', conditions: [{ type: 'Ready' }] } };
  const shared = sharedWith(parsed(next) as typeof next, before, other);
  expect(shared).toEqual(next);
  expect(shared.metadata).toBe(before.metadata);
  expect(shared.status.conditions).toBe(other.status.conditions);
  const first = sharedWith(parsed({ status: next.status }) as typeof next, {}, other);
  expect(first.status).toBe(other.status);
});

test.each([
  ['a member more', { a: 1, b: 2 }, { a: 1 }, { b: 2 }],
  ['an item less', { list: [1] }, { list: [1, 2] }, { list: [1, 3] }],
  ['a list and an object', { a: [1] }, { a: {} }, { a: { 0: 1 } }],
  ['half of each', { a: [1], b: [2] }, { a: [1], b: [3] }, { a: [3], b: [2] }],
])('%s of two are not the same either', (_, next, like, other) => {
  const before = JSON.stringify([like, other]);
  expect(JSON.stringify(sharedWith(parsed(next), like, other))).toBe(JSON.stringify(next));
  expect(JSON.stringify([like, other])).toBe(before);
});
