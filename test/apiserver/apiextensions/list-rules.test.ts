import { expect, test } from 'vitest';
import { linesOf } from '../../../src/apimachinery/status-error.ts';
import { repeatedItems } from '../../../src/apiserver/apiextensions/list-rules.ts';

const map = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['n'],
  items: { type: 'object', properties: { n: { type: 'string' } } },
};
const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };

test.for([
  [set, ['x', 'x', 'x'], 'a[1]: Duplicate value: "x"'],
  [map, [{ n: 'x' }, { n: 'x' }], 'a[1]: Duplicate value: {"n":"x"}'],
  [map, [{}, null], 'a[1]: Duplicate value: {}'],
  [map, [{ n: 'x' }, 1], 'a[1]: Invalid value: 1: must be an object for an array of list-type map'],
  [{ type: 'object', additionalProperties: set }, { b: ['x', 'x'] }, 'a[b][1]: Duplicate value: "x"'],
  [set, ['x', 'y'], '[]'],
  [
    map,
    [
      { n: 'x', m: 1 },
      { n: 'y', m: 1 },
    ],
    '[]',
  ],
] as const)('%j: %j', ([schema, value, message]) => {
  expect(linesOf(repeatedItems({ a: value }, { type: 'object', properties: { a: schema } }))).toBe(message);
});
