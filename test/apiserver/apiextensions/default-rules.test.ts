import { expect, test } from 'vitest';
import { defaultFaults } from '../../../src/apiserver/apiextensions/default-rules.ts';
import type { JsonObject } from '../../../src/apimachinery/json.ts';

/** Returns the faults of the default of a property `a`. */
const faultsOf = (a: JsonObject): readonly string[] =>
  defaultFaults({ type: 'object', properties: { a } }, 'schema').map(
    ({ field, message }) => `${field}: ${message}`,
  );
const at = 'schema.properties[a].default';

test('a default that its schema allows has no faults', () => {
  expect(faultsOf({ type: 'integer', minimum: 1, default: 1 })).toEqual([]);
  expect(
    faultsOf({
      type: 'array',
      'x-kubernetes-list-type': 'set',
      items: { type: 'string' },
      default: ['a', 'a'],
    }),
  ).toEqual([]);
});

test('a default has no unknown fields', () => {
  expect(
    faultsOf({ type: 'object', properties: { b: { type: 'string' } }, default: { c: 1, b: 'x' } }),
  ).toEqual([`${at}: Invalid value: {"b":"x","c":1}: must not have unknown fields`]);
});

test('a default follows its schema', () => {
  expect(faultsOf({ type: 'integer', minimum: 1, default: 0 })).toEqual([
    `${at}: Invalid value: 0:  in body should be greater than or equal to 1`,
  ]);
  expect(faultsOf({ type: 'object', additionalProperties: { type: 'string' }, default: { k: 1 } })).toEqual([
    `${at}.k: Invalid value: "integer": .k in body must be of type string: "integer"`,
  ]);
});

test('a default follows the rules of its schema', () => {
  const rules = (rule: string): JsonObject => ({ 'x-kubernetes-validations': [{ rule }] });
  expect(faultsOf({ type: 'integer', default: 1, ...rules('self > 1') })).toEqual([
    `${at}: Invalid value: 1: failed rule: self > 1`,
  ]);
  expect(faultsOf({ type: 'integer', default: 1, ...rules('self') })).toEqual([
    `${at}: Invalid value: "integer": rule compile error: cel expression must evaluate to a bool`,
  ]);
});

test('a default of a map names the key that breaks a rule', () => {
  const inner = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 1' }] };
  expect(faultsOf({ type: 'object', additionalProperties: inner, default: { k: 1 } })).toEqual([
    `${at}[k]: Invalid value: 1: failed rule: self > 1`,
  ]);
});
