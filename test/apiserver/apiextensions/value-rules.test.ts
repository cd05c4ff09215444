import { expect, test } from 'vitest';
import { valueFaults } from '../../../src/apiserver/apiextensions/value-rules.ts';
import { linesOf } from '../../../src/apimachinery/status-error.ts';

const judged = (schema: object, value: unknown, old?: unknown): string =>
  linesOf(
    valueFaults(
      { a: value },
      { type: 'object', properties: { a: schema } },
      { old: old === undefined ? undefined : { a: old } },
    ),
  );

test.for([
  [{ type: 'integer' }, 'x', 'a: Invalid value: "string": a in body must be of type integer: "string"'],
  [{ type: 'string' }, null, 'a: Invalid value: "null": a in body must be of type string: "null"'],
  [
    { 'x-kubernetes-int-or-string': true },
    true,
    'a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
  ],
  [{ type: 'string', enum: ['x', 'y'] }, 'z', 'a: Unsupported value: "z": supported values: "x", "y"'],
  [{ type: 'string', pattern: '^x+$' }, 'y', 'a: Invalid value: "y": a in body should match \'^x+$\''],
  [{ type: 'string', minLength: 2 }, 'y', 'a: Invalid value: "y": a in body should be at least 2 chars long'],
  [{ type: 'string', maxLength: 2 }, 'yyy', 'a: Too long: may not be more than 2 bytes'],
  [{ type: 'string', format: 'ipv4' }, 'y', 'a: Invalid value: "y": a in body must be of type ipv4: "y"'],
  [{ type: 'integer', minimum: 1 }, 0, 'a: Invalid value: 0: a in body should be greater than or equal to 1'],
  [
    { type: 'integer', maximum: 1, exclusiveMaximum: true },
    1,
    'a: Invalid value: 1: a in body should be less than 1',
  ],
  [
    { type: 'integer', format: 'int32' },
    2 ** 31,
    '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a',
  ],
  [
    { type: 'integer' },
    1e20,
    '[a: Invalid value: "number": a in body must be of type integer: "number", <nil>: Invalid value: "": Checked value must be of type integer (default format) in a]',
  ],
  [{ type: 'number', multipleOf: 2 }, 3, 'a: Invalid value: 3: a in body should be a multiple of 2'],
  [
    { type: 'array', maxItems: 1, items: { type: 'string' } },
    ['x', 'y'],
    'a: Too many: 2: must have at most 1 item',
  ],
  [
    { type: 'array', items: { type: 'string' } },
    ['x', 1],
    'a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"',
  ],
  [
    { type: 'integer', minimum: 2.5 },
    1,
    '[<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in a, a: Invalid value: 1: a in body should be greater than or equal to 2.5]',
  ],
  [
    { type: 'number', minimum: 2.5 },
    1,
    'a: Invalid value: 1: a in body should be greater than or equal to 2',
  ],
  [
    { type: 'number', multipleOf: 0.5 },
    2,
    'a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0',
  ],
  [
    { type: 'integer', format: 'int32' },
    1.5,
    '[a: Invalid value: "float64": a in body must be of type int32: "float64", <nil>: Invalid value: "": Checked value must be of type integer with format int32 in a]',
  ],
  [
    { type: 'string', enum: ['x'], nullable: true },
    null,
    'a: Unsupported value: null: supported values: "x"',
  ],
  [{ type: 'number', enum: ['x'] }, 1e20, 'a: Unsupported value: 1e+20: supported values: "x"'],
  [{ type: 'string', format: 'date' }, true, 'a: Invalid value: "": a in body must be of type date: ""'],
  [{ type: 'object', required: ['b'] }, {}, 'a.b: Required value'],
  [
    { type: 'object', additionalProperties: { type: 'string' } },
    { k: 1 },
    'a.k: Invalid value: "integer": a.k in body must be of type string: "integer"',
  ],
  [
    { type: 'string', anyOf: [{ minLength: 2 }] },
    'x',
    '[<nil>: Invalid value: "": "a" must validate at least one schema (anyOf), a: Invalid value: "x": a in body should be at least 2 chars long]',
  ],
  [
    { type: 'object', oneOf: [{ required: ['b'] }, { required: ['c'] }] },
    { b: 1, c: 1 },
    '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  ],
  [
    { type: 'string', not: { enum: ['x'] } },
    'x',
    '<nil>: Invalid value: "": "a" must not validate the schema (not)',
  ],
] as const)('%j refuses %j', ([schema, value, message]) => {
  expect(judged(schema, value)).toBe(message);
});

test.for([
  [{ type: 'integer', format: 'int32' }, -(2 ** 31)],
  [{ type: 'string', nullable: true }, null],
  [{ type: 'number' }, 1],
  [{ type: 'number', enum: [1, 2] }, 1.5],
  [{ 'x-kubernetes-int-or-string': true }, '50%'],
  [{ type: 'string', pattern: '(?i)^X$' }, 'x'],
  [{ type: 'string', format: 'date-time' }, '2026-01-01T00:00:00Z'],
  [{ type: 'object', oneOf: [{ required: ['b'] }, { required: ['c'] }] }, { b: 1 }],
  [{ type: 'string', format: 'date' }, []],
] as const)('%j takes %j', ([schema, value]) => {
  expect(valueFaults({ a: value }, { type: 'object', properties: { a: schema } })).toEqual([]);
});

test('what an update leaves as it is is not judged again', () => {
  const schema = {
    type: 'object',
    properties: { b: { type: 'string', minLength: 3 }, c: { type: 'integer' } },
  };
  expect(
    valueFaults(
      { a: { b: 'x', c: 2 } },
      { type: 'object', properties: { a: schema } },
      { old: { a: { b: 'x', c: 1 } } },
    ),
  ).toEqual([]);
  expect(judged(schema, { b: 'y' }, { b: 'x' })).toBe(
    'a.b: Invalid value: "y": a.b in body should be at least 3 chars long',
  );
});
