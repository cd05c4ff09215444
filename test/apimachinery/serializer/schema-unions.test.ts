import { expect, test } from 'vitest';
import { decodeType } from '../../../src/apimachinery/serializer/codec.ts';

test.for([
  [
    { items: { type: ['x'] } },
    'json: cannot unmarshal array into Go struct field JSONSchemaProps.items.type of type string',
  ],
  [
    { additionalProperties: { properties: { a: { required: 1 } } } },
    'json: cannot unmarshal number into Go struct field JSONSchemaProps.additionalProperties.properties.required of type []string',
  ],
  [{ additionalProperties: 'x' }, 'boolean or JSON schema expected'],
] as const)('%j is no schema', ([schema, why]) => {
  expect(() => decodeType(schema, 'JSONSchemaProps')).toThrow(why);
});

test('schemas in schemas are decoded, and their unknown fields dropped silently', () => {
  const { object, strict } = decodeType(
    { items: { type: 'string', odd: 1 }, additionalProperties: false },
    'JSONSchemaProps',
  );
  expect(object).toEqual({ items: { type: 'string' }, additionalProperties: false });
  expect(strict).toEqual([]);
});

test('an enabled status is an object', () => {
  expect(() => decodeType({ status: 1 }, 'CustomResourceSubresources')).toThrow(
    'of type v1.CustomResourceSubresourceStatus',
  );
  const { object, strict } = decodeType({ status: { odd: 1 } }, 'CustomResourceSubresources');
  expect(object).toEqual({ status: {} });
  expect(strict).toEqual(['unknown field "status.odd"']);
});
