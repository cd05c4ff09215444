import fc from 'fast-check';
import { expect, test } from 'vitest';
import { difference, parseSet, union, writeSet } from '../../src/apiserver/field-set.ts';
import { jsonPatch, mergePatch, strategicPatch } from '../../src/apiserver/patch.ts';
import { sameJson } from '../../src/apiserver/json.ts';

const containers = (...names: string[]): object[] => names.map((name) => ({ name, image: name }));

test.for([
  [
    'an item is joined by its key',
    { spec: { containers: [{ name: 'a', image: 'z' }] } },
    [
      { name: 'a', image: 'z' },
      { name: 'b', image: 'b' },
    ],
  ],
  [
    'an item is removed by directive',
    { spec: { containers: [{ name: 'a', $patch: 'delete' }] } },
    [{ name: 'b', image: 'b' }],
  ],
  [
    'a list is replaced by directive',
    { spec: { containers: [{ $patch: 'replace' }, { name: 'c', image: 'c' }] } },
    [{ name: 'c', image: 'c' }],
  ],
  [
    'a new item comes before what only stood',
    { spec: { containers: [{ name: 'c', image: 'c' }] } },
    [...containers('c'), ...containers('a', 'b')],
  ],
] as const)('strategic merge: %s', ([, patch, expected]) => {
  const target = { spec: { containers: containers('a', 'b') } };
  expect(strategicPatch(target, patch, 'Pod')).toEqual({ spec: { containers: expected } });
});

test('a JSON patch is done whole or not at all', () => {
  const target = { a: [1, 2] };
  expect(
    jsonPatch(target, [
      { op: 'add', path: '/a/-', value: 3 },
      { op: 'remove', path: '/a/0' },
    ]),
  ).toEqual({ a: [2, 3] });
  expect(() =>
    jsonPatch(target, [
      { op: 'remove', path: '/a/0' },
      { op: 'test', path: '/a/0', value: 9 },
    ]),
  ).toThrow();
  expect(target).toEqual({ a: [1, 2] });
});

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.dictionary(fc.stringMatching(/^[a-d]$/), tie('value')),
  ),
})).value;
const object = fc.dictionary(fc.stringMatching(/^[a-d]$/), json);

test('a merge patch applied twice changes no more than once', () => {
  fc.assert(
    fc.property(object, object, (target, patch) => {
      const once = mergePatch(target, patch);
      return sameJson(mergePatch(once, patch), once);
    }),
  );
});

const fields = fc.letrec<{ set: Record<string, unknown> }>((tie) => ({
  set: fc.dictionary(
    fc.constantFrom('f:a', 'f:b', 'f:c', '.'),
    fc.oneof({ depthSize: 'small' }, fc.constant({}), tie('set')),
  ),
})).set;

test('what is joined to a set of fields and taken away again leaves at most what was there', () => {
  fc.assert(
    fc.property(fields, fields, (left, right) => {
      const [a, b] = [parseSet(left), parseSet(right)];
      const rest = difference(union(a, b), b);
      return sameJson(writeSet(difference(rest, a)), {});
    }),
  );
});
