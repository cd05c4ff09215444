import { tableOf } from '../../base/own.ts';

/** A field that is one of several types in JSON, and a message with a member for each of them in protobuf. */
export type Union = 'schema-or-bool' | 'schema-or-array' | 'schema-or-strings';

/** Fields that are unions, or maps of them; `JSONSchemaProps` is the schema in each. */
export const unions: Readonly<Record<string, Union>> = tableOf({
  'JSONSchemaProps.items': 'schema-or-array',
  'JSONSchemaProps.additionalItems': 'schema-or-bool',
  'JSONSchemaProps.additionalProperties': 'schema-or-bool',
  'JSONSchemaProps.dependencies': 'schema-or-strings',
});

/** The type of the schema in a union. */
export const schemaType = 'JSONSchemaProps';

/** Fields that are objects without declared members: Go's types of them. */
export const openObjects: Readonly<Record<string, string>> = tableOf({
  'CustomResourceSubresources.status': 'v1.CustomResourceSubresourceStatus',
});
