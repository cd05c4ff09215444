import { ownMember, setOwn } from '../../base/own.ts';
import {
  type Draft,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  without,
  objectsAt,
} from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';

/** A custom kind and the schema that its definition gives the version. */
export interface DescribedCustom {
  readonly kind: Kind;
  readonly schema: JsonObject;
}

/** How the documents of a version of OpenAPI refer to the types that every object has. */
export interface References {
  readonly version: 2 | 3;
  /** Returns the reference to a definition by its name. */
  readonly to: (definition: string) => JsonObject;
  /** Returns the name of the definition of a built-in type. */
  readonly nameOf: (type: string) => string;
}

const typeMembers: Readonly<Record<'apiVersion' | 'kind', JsonObject>> = {
  apiVersion: {
    description:
      'APIVersion names the group and version of the schema of this object. Servers convert objects to the version that is asked for, and may reject versions that they do not know.',
    type: 'string',
  },
  kind: {
    description:
      'Kind names the REST resource that this object represents, in CamelCase. Servers may infer it from the endpoint; it cannot be updated.',
    type: 'string',
  },
};
const metadataText = 'Metadata that every stored object has: name, namespace, labels, annotations and more.';

/** Returns the name of a custom kind's definition: `com.example.v1.Widget`. */
const definitionNameOf = ({ group, version, kind }: Kind): string =>
  [...group.split('.').toReversed(), version, kind].join('.');

/** Names of the definitions of a custom kind and of its lists. */
export function customNaming(kind: Kind): { readonly object: string; readonly list: string } {
  const object = definitionNameOf(kind);
  return { object, list: object.slice(0, -kind.kind.length) + (kind.listKind ?? `${kind.kind}List`) };
}

const preserving = 'x-kubernetes-preserve-unknown-fields';
const junctors = ['allOf', 'anyOf', 'oneOf', 'not'];

/** Returns a schema with each of its inner schemas changed. */
function withInner(schema: JsonObject, change: (inner: JsonObject) => JsonObject): JsonObject {
  const out: Draft = { ...schema };
  for (const key of ['items', 'additionalProperties'] as const) {
    const inner = schema[key];
    if (isObject(inner)) setOwn(out, key, change(inner));
  }
  const properties = Object.entries(objectAt(schema, 'properties'));
  if (properties.length === 0) return out;
  const changed: Draft = {};
  for (const [name, inner] of properties) setOwn(changed, name, isObject(inner) ? change(inner) : inner);
  out['properties'] = changed;
  return out;
}

const isNullable = (schema: unknown): boolean => isObject(schema) && schema['nullable'] === true;

/** Returns the required members of a schema without those that may be null, which clients of OpenAPI 2 take for absent. */
function requiredIn2(schema: JsonObject): readonly unknown[] {
  if (isNullable(schema['additionalProperties'])) return [];
  const properties = objectAt(schema, 'properties');
  return listAt(schema, 'required').filter((name) => !isNullable(ownMember(properties, String(name))));
}

/**
 * Returns a schema with what OpenAPI 2 and its clients can express. Follows apiextensions-apiserver `ToStructuralOpenAPIV2`: what may be null,
 * or have unknown fields, has no type there, so that kubectl accepts all of it.
 */
function inOpenApi2(schema: JsonObject): JsonObject {
  const required = requiredIn2(schema);
  const out: Draft = without(schema, ...junctors, 'nullable', 'required');
  if (required.length > 0) out['required'] = required;
  const [nullable, open] = [isNullable(schema), schema[preserving] === true];
  if (nullable || open) for (const key of ['items', 'properties']) delete out[key];
  const isBare = out['items'] === undefined && out['type'] === 'array';
  if (nullable || isBare || (open && out['type'] === 'object')) delete out['type'];
  return withInner(out, inOpenApi2);
}

/** Adds what an int-or-string and an embedded resource are to schemas that only name them so. */
function unfolded(schema: JsonObject, references: References): JsonObject {
  const inner = withInner(schema, (one) => unfolded(one, references));
  if (schema['x-kubernetes-int-or-string'] === true && references.version === 3 && !schema['anyOf'])
    return { ...inner, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  const isOpen = schema[preserving] === true && references.version === 2;
  return schema['x-kubernetes-embedded-resource'] === true && !isOpen
    ? {
        ...withTypeMembers(inner, references),
        required: [...new Set([...listAt(schema, 'required'), 'kind', 'apiVersion'])],
      }
    : inner;
}

function withTypeMembers(schema: JsonObject, { to, nameOf }: References): JsonObject {
  const metadata = { description: metadataText, ...to(nameOf('ObjectMeta')) };
  return { ...schema, properties: { ...objectAt(schema, 'properties'), ...typeMembers, metadata } };
}

function objectDefinition({ kind, schema }: DescribedCustom, references: References): JsonObject {
  const { group, version } = kind;
  const marks = {
    'x-kubernetes-group-version-kind': [{ group, version, kind: kind.kind }],
    ...(kind.custom &&
      kind.custom.selectable.size > 0 && {
        'x-kubernetes-selectable-fields': [...kind.custom.selectable.keys()].map((fieldPath) => ({
          fieldPath,
        })),
      }),
  };
  // kubectl would take any declared member for the only ones
  if (references.version === 2 && schema[preserving] === true) return { type: 'object', ...marks };
  const own = references.version === 2 ? inOpenApi2(schema) : schema;
  return { ...withTypeMembers(unfolded(own, references), references), ...marks };
}

/** Returns a reference without the `allOf` around it, which leaves room for a description. */
const bare = (reference: JsonObject): JsonObject => objectsAt(reference, 'allOf')[0] ?? reference;

function listDefinition({ kind }: DescribedCustom, { to, nameOf }: References): JsonObject {
  const { group, version } = kind;
  const listKind = kind.listKind ?? `${kind.kind}List`;
  return {
    description: `${listKind} is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeMembers,
      items: {
        description: `List of ${kind.resource}.`,
        type: 'array',
        items: bare(to(definitionNameOf(kind))),
      },
      metadata: { description: 'Metadata of the list.', ...to(nameOf('ListMeta')) },
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: listKind }],
  };
}

/** Returns the definitions of a custom kind and of its lists, by name. */
export function customDefinitions(custom: DescribedCustom, references: References): JsonObject {
  const { object, list } = customNaming(custom.kind);
  return {
    [object]: objectDefinition(custom, references),
    [list]: listDefinition(custom, references),
  };
}
