import fc from 'fast-check';
import { expect, test } from 'vitest';
import { difference, parseSet, union, writeSet } from '../../../src/apimachinery/managed-fields/field-set.ts';
import { sameJson } from '../../../src/apimachinery/json.ts';
import { jsonPatch, mergePatch } from '../../../src/apimachinery/patch/patch.ts';
import { builtIn } from '../../../src/apimachinery/kinds.ts';
import { patched, readPatch } from '../../../src/apiserver/endpoints/handlers/patch-request.ts';
import { strategicPatch } from '../../../src/apimachinery/patch/strategic-patch.ts';

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

const condition = (type: string): object => ({ type, status: 'True' });

test.for([
  [
    'the order of a patch is that which it asks for',
    {
      '$setElementOrder/conditions': [{ type: 'Z' }, { type: 'Y' }],
      conditions: [condition('Y'), condition('Z')],
    },
    "The order in patch list:\n[map[status:True type:Y] map[status:True type:Z]]\n doesn't match $setElementOrder list:\n[map[type:Z] map[type:Y]]\n",
  ],
  [
    'kept keys are a list that names what is set',
    { $retainKeys: ['phase'], reason: 'x' },
    'invalid patch format of retainKeys',
  ],
  [
    'items have their key',
    { conditions: [{ status: 'True' }] },
    'map: map[status:True] does not contain declared merge key: type',
  ],
  [
    'items of a list are alike',
    { conditions: ['x'] },
    'list element types are not identical: [[map[status:True type:A]] [x]]',
  ],
  [
    'directives are known',
    { conditions: [{ $patch: 'x', type: 'A' }] },
    'unknown patch type: x in map: map[$patch:x type:A]',
  ],
] as const)('strategic merge: %s', ([, status, why]) => {
  const target = { status: { phase: 'Pending', conditions: [condition('A')] } };
  expect(() => strategicPatch(target, { status }, 'Pod')).toThrow(why);
});

test('what is new is taken as it comes, without what carries a directive', () => {
  const patch = {
    status: { conditions: [{ $patch: 'replace' }, condition('A'), condition('A')], reason: null },
  };
  expect(strategicPatch({ status: {} }, patch, 'Pod')).toEqual({
    status: { conditions: [condition('A'), condition('A')] },
  });
});

const pods = builtIn('pods');
const pod = { metadata: { name: 'p' }, spec: { restartPolicy: 'Always', containers: containers('a') } };

test.for([
  [
    'strategic',
    '{"spec":{"priority":1.5}}',
    'Invalid value: "map[spec:map[priority:1.5]]": cannot convert float64 to int32',
  ],
  [
    'strategic',
    '{"metadata":{"labels":{"n":5}}}',
    'Invalid value: "map[metadata:map[labels:map[n:5]]]": cannot convert int64 to string',
  ],
  [
    'merge',
    '{"spec":{"priority":80.0}}',
    'cannot unmarshal number 80.0 into Go struct field PodSpec.spec.priority of type int32',
  ],
  [
    'merge',
    '{"spec":{"foo":1}}',
    'Invalid value: "{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"Pod\\",\\"metadata\\":{\\"name\\":\\"p\\"},\\"spec\\":{\\"containers\\":[{\\"name\\":\\"a\\",\\"image\\":\\"a\\"}],\\"foo\\":1,\\"restartPolicy\\":\\"Always\\"}}": strict decoding error: unknown field "spec.foo"',
  ],
  ['json', '[{"op":"add","path":"/spec/priority","value":3e1}]', 'cannot unmarshal number 3e1 into'],
  [
    'json',
    '[{"op":"test","path":"/spec/priority","x":1}]',
    'strict decoding error: json patch unknown field "[0].x"',
  ],
] as const)('a %s patch of a pod is refused in the words of its way: %s', ([type, text, why]) => {
  const refuse = (): unknown =>
    patched(pod, readPatch(Buffer.from(text), type), pods, { fieldValidation: 'Strict' });
  expect(refuse).toThrow(why);
});

test.for([
  ['a copy of what is not there is null', [{ op: 'copy', from: '/b', path: '/c' }], { a: [1, 2], c: null }],
  ['a member is replaced that was not there', [{ op: 'replace', path: '/b', value: 1 }], { a: [1, 2], b: 1 }],
  ['one before the end of a list is its end', [{ op: 'add', path: '/a/-1', value: 3 }], { a: [1, 2, 3] }],
  ['nothing is what a missing member holds', [{ op: 'test', path: '/b', value: null }], { a: [1, 2] }],
] as const)('a JSON patch: %s', ([, steps, expected]) => {
  expect(jsonPatch({ a: [1, 2] }, steps)).toEqual(expected);
});

test.for([
  ['nothing is in what is not there', { op: 'test', path: '/b/c', value: null }],
  ['the whole is not added', { op: 'add', path: '', value: {} }],
  ['a list ends', { op: 'replace', path: '/a/2', value: 1 }],
])('a JSON patch is refused: %s', ([, step]) => {
  expect(() => jsonPatch({ a: [1, 2] }, [step])).toThrow('the server rejected our request');
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

test('a patch that takes the kind away changes nothing about it', () => {
  const kind = builtIn('configmaps');
  const body = readPatch(Buffer.from('{"kind":null,"data":{"a":"1"}}'), 'merge');
  expect(
    patched({ metadata: { name: 'x' } }, body, kind, { fieldValidation: 'Ignore' }).object,
  ).toMatchObject({
    data: { a: '1' },
  });
});

test('the steps of a JSON patch are objects', () => {
  expect(() => readPatch(Buffer.from('["x"]'), 'json')).toThrow(
    'error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp',
  );
});

test.for([
  [null, '%!s(<nil>)'],
  [true, '%!s(bool=true)'],
  [1, '%!s(int64=1)'],
  ['x', 'x'],
] as const)('a directive %s is refused as Go shows it', ([how, shown]) => {
  expect(() => strategicPatch({}, { $patch: how }, 'Pod')).toThrow(`unknown patch type: ${shown} in map: `);
});

test('a merge patch drops nulls in lists, unless the list replaces an object', () => {
  const list = [{ b: null, c: 1 }, null];
  expect(mergePatch({}, { a: list })).toEqual({ a: [{ c: 1 }, null] });
  expect(mergePatch({ a: [1] }, { a: list })).toEqual({ a: [{ c: 1 }, null] });
  expect(mergePatch({ a: {} }, { a: list })).toEqual({ a: list });
});
