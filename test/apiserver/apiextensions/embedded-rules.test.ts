import { expect, test } from 'vitest';
import { linesOf } from '../../../src/apimachinery/status-error.ts';
import { pruned, withSchemaDefaults } from '../../../src/apiserver/apiextensions/structural.ts';
import { embeddedFaults, withEmbedded } from '../../../src/apiserver/apiextensions/embedded-rules.ts';

const schema = {
  type: 'object',
  properties: {
    a: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
  },
};

test.for([
  [
    { metadata: [] },
    'a.metadata: Invalid value: []: json: cannot unmarshal array into Go value of type v1.ObjectMeta',
  ],
  [
    { metadata: { name: 1 } },
    'a.metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
  ],
  [{ kind: null }, 'a.kind: Invalid value: null: must be a string'],
  [{ apiVersion: 1e20 }, 'a.apiVersion: Invalid value: 1e+20: must be a string'],
] as const)('%j cannot be decoded as a resource', ([value, message]) => {
  expect(() => withEmbedded({ a: value }, schema)).toThrow(message);
});

test('embedded metadata is written as that of any object', () => {
  const metadata = { name: '', labels: {}, creationTimestamp: null, odd: 1 };
  expect(withEmbedded({ a: { metadata, odd: 1 } }, schema)).toEqual({ a: { metadata: {}, odd: 1 } });
});

test.for([
  [{}, '[a.apiVersion: Required value, a.kind: Required value]'],
  [
    { apiVersion: 'a/b/c', kind: 'Pod' },
    'a.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
  ],
  [{ apiVersion: '', kind: 'Pod' }, 'a.apiVersion: Invalid value: "": must not be empty'],
  [
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a/b' } },
    `a.metadata.name: Invalid value: "a/b": may not contain '/'`,
  ],
  [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'B_' } }, '[]'],
] as const)('%j: %s', ([value, message]) => {
  expect(linesOf(embeddedFaults({ a: value }, schema))).toBe(message);
});

test('the kind of an embedded resource is a label but for its case', () => {
  const faults = embeddedFaults({ a: { apiVersion: 'v1', kind: 'Po_d' } }, schema);
  expect(linesOf(faults)).toContain(
    'a.kind: Invalid value: "Po_d": may have mixed case, but should otherwise match: a DNS-1035 label',
  );
});

test('unknown metadata of resources in a map are named by their key', () => {
  const unknown: string[] = [];
  const map = { type: 'object', additionalProperties: schema.properties.a };
  pruned({ m: { k: { metadata: { odd: 1 } } } }, { type: 'object', properties: { m: map } }, unknown);
  expect(unknown).toEqual(['m[k].metadata.odd']);
});

test('nulls in lists get defaults; what is applied keeps all others', () => {
  const of = {
    type: 'object',
    properties: { l: { type: 'array', items: { type: 'integer', default: 1 } }, s: { type: 'string' } },
  };
  expect(withSchemaDefaults({ l: [null], s: null }, of)).toEqual({ l: [1] });
  expect(withSchemaDefaults({ l: [null], s: null }, of, { keepsNulls: true })).toEqual({ l: [1], s: null });
});
