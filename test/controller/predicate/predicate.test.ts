import { describe, expect, test } from 'vitest';
import {
  and,
  annotationChanged,
  generationChanged,
  labelChanged,
  matchesLabels,
  not,
  or,
  type Predicate,
  predicateFuncs,
  resourceVersionChanged,
} from '../../../src/controller/predicate/predicate.ts';
import type { KubeObject, ObjectMeta } from '../../../src/controller/types.ts';

const object = (metadata: ObjectMeta = {}): KubeObject => ({
  metadata: { namespace: 'biz', name: 'baz', ...metadata },
});
const update = (predicate: Predicate, before: KubeObject, after: KubeObject): boolean =>
  predicate.update({ objectOld: before, objectNew: after });
/** What the predicate says for create, update, delete and generic. */
const verdicts = (predicate: Predicate, one = object()): boolean[] => [
  predicate.create({ object: one }),
  update(predicate, one, one),
  predicate.delete({ object: one }),
  predicate.generic({ object: one }),
];
const yes = predicateFuncs(() => true);
const no = predicateFuncs(() => false);

describe('predicate: predicateFuncs', () => {
  test.each(['create', 'update', 'delete', 'generic'] as const)('%# %s calls its function alone', (name) => {
    const own = predicateFuncs({ [name]: () => false });
    const expected = { create: 0, update: 1, delete: 2, generic: 3 };
    expect(verdicts(own).map((verdict, at) => verdict || at === expected[name])).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(verdicts(own)[expected[name]]).toBe(false);
  });
  test('5 without a function an event passes', () => {
    expect(verdicts(predicateFuncs({}))).toEqual([true, true, true, true]);
  });
  test('6 a function of the object decides on all events', () => {
    const inBiz = predicateFuncs(({ metadata }) => metadata?.namespace === 'biz');
    expect(verdicts(inBiz)).toEqual([true, true, true, true]);
    expect(verdicts(inBiz, object({ namespace: 'foo' }))).toEqual([false, false, false, false]);
  });
  test('7 of an update it sees the new state', () => {
    const inBiz = predicateFuncs(({ metadata }) => metadata?.namespace === 'biz');
    expect(update(inBiz, object({ namespace: 'foo' }), object())).toBe(true);
  });
});

interface Case {
  readonly name: string;
  readonly predicate: Predicate;
  readonly same: ObjectMeta;
  readonly changes: readonly ObjectMeta[];
}
const cases: readonly Case[] = [
  {
    name: 'resourceVersionChanged',
    predicate: resourceVersionChanged,
    same: { resourceVersion: '1' },
    changes: [{ resourceVersion: '2' }, {}],
  },
  {
    name: 'generationChanged',
    predicate: generationChanged,
    same: { generation: 1 },
    changes: [{ generation: 2 }, {}],
  },
  {
    name: 'labelChanged',
    predicate: labelChanged,
    same: { labels: { a: '1' } },
    changes: [{ labels: { a: '2' } }, { labels: { a: '1', b: '1' } }, { labels: {} }, {}],
  },
  {
    name: 'annotationChanged',
    predicate: annotationChanged,
    same: { annotations: { a: '1' } },
    changes: [{ annotations: { a: '2' } }, { annotations: { a: '1', b: '1' } }, { annotations: {} }],
  },
];

describe.each(cases)('predicate: $name', ({ predicate, same, changes }) => {
  test('1 an update that changes nothing of it is held back', () => {
    expect(update(predicate, object(same), object(structuredClone(same)))).toBe(false);
  });
  test.each(changes)('2.%# an update that changes it passes', (change) => {
    expect(update(predicate, object(same), object(change))).toBe(true);
    expect(update(predicate, object(change), object(same))).toBe(true);
  });
  test('3 creates, deletes and generic events pass', () => {
    const [create, , gone, generic] = verdicts(predicate, object(same));
    expect([create, gone, generic]).toEqual([true, true, true]);
  });
  test('4 an update that lacks an object or its metadata is held back', () => {
    const missing = undefined as unknown as KubeObject;
    expect([
      update(predicate, missing, object(same)),
      update(predicate, object(same), missing),
      update(predicate, {}, object(same)),
    ]).toEqual([false, false, false]);
  });
  test('5 it serves as a value and called', () => {
    const called = (predicate as Predicate & (() => Predicate))();
    expect(update(called, object(same), object(changes[0]))).toBe(true);
  });
});

describe('predicate: empty labels and annotations', () => {
  test.each([labelChanged, annotationChanged])('%# an empty map is as none', (predicate) => {
    expect(update(predicate, object({ labels: {}, annotations: {} }), object())).toBe(false);
  });
});

describe('predicate: and, or, not', () => {
  test('1 and: all must let pass', () => {
    expect(verdicts(and(yes, yes))).toEqual([true, true, true, true]);
    expect(verdicts(and(yes, no))).toEqual([false, false, false, false]);
  });
  test('2 or: one must let pass', () => {
    expect(verdicts(or(no, yes))).toEqual([true, true, true, true]);
    expect(verdicts(or(no, no))).toEqual([false, false, false, false]);
  });
  test('3 not: the contrary', () => {
    expect(verdicts(not(yes))).toEqual([false, false, false, false]);
    expect(verdicts(not(no))).toEqual([true, true, true, true]);
  });
  test('4 or of generation and label: each change passes', () => {
    const either = or(generationChanged, labelChanged);
    expect(update(either, object({ generation: 1 }), object({ generation: 2 }))).toBe(true);
    expect(update(either, object(), object({ labels: { a: 'b' } }))).toBe(true);
    expect(update(either, object(), object({ annotations: { a: 'b' } }))).toBe(false);
  });
});

describe('predicate: matchesLabels', () => {
  const foo = object({ labels: { foo: 'bar', tier: 'web' } });
  test.each([
    ['text', 'foo=bar,tier in (web, db)', true],
    ['text that does not match', 'foo!=bar', false],
    ['labels', { foo: 'bar' }, true],
    ['labels that do not match', { foo: 'baz' }, false],
    [
      'a selector',
      { matchLabels: { foo: 'bar' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      true,
    ],
    ['a selector that does not match', { matchExpressions: [{ key: 'x', operator: 'Exists' }] }, false],
    ['an empty selector', {}, true],
  ] as const)('%# %s', (_, selector, expected) => {
    expect(verdicts(matchesLabels(selector), foo)).toEqual([expected, expected, expected, expected]);
  });
  test('8 a selector that is none is refused at once', () => {
    expect(() => matchesLabels('foo in bar')).toThrow();
  });
});
