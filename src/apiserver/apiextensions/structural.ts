import { ownMember, setOwn } from '../../base/own.ts';
import { fieldsOf, type FieldType, type Shape } from '../../apimachinery/api-types.ts';
import {
  type Draft,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  stringAt,
  without,
} from '../../apimachinery/json.ts';

/** A structural schema, as a CustomResourceDefinition has it: JSON schema with Kubernetes' extensions. */
export type Structural = JsonObject;

const at = (schema: Structural | undefined, key: string): Structural | undefined => {
  const inner = schema && ownMember(schema, key);
  return isObject(inner) ? inner : undefined;
};

/** The schema of a list's items. */
export const itemsOf = (schema: Structural | undefined): Structural | undefined => at(schema, 'items');
/** The schema of a declared member. */
export const propertyOf = (schema: Structural | undefined, name: string): Structural | undefined =>
  at(at(schema, 'properties'), name);
/** The schema of the members of a map. */
export const valuesOf = (schema: Structural | undefined): Structural | undefined =>
  at(schema, 'additionalProperties');

export const isPreserving = (schema: Structural | undefined): boolean =>
  schema?.['x-kubernetes-preserve-unknown-fields'] === true;
export const isEmbedded = (schema: Structural | undefined): boolean =>
  schema?.['x-kubernetes-embedded-resource'] === true;
export const isIntOrString = (schema: Structural | undefined): boolean =>
  schema?.['x-kubernetes-int-or-string'] === true;

const resourceFields = new Set(['apiVersion', 'kind', 'metadata']);

/** Where a value stands, for what is said of it. */
const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Where a value stands, and whether it is a resource whatever its schema says. */
interface Place {
  readonly path?: string;
  /** The path with keys of maps in brackets, for the metadata of embedded resources. */
  readonly keyed?: string;
  readonly isResource?: boolean;
  /** Whether embedded metadata stay as they are, to be decoded. */
  readonly keepsMetadata?: boolean;
}

/** Whether a value keeps the members that its schema does not declare. */
const keepsAll = (schema: Structural | undefined): boolean =>
  isPreserving(schema) || schema?.['additionalProperties'] === true;

/**
 * Returns the value without the fields that its schema does not declare. Follows apiextensions-apiserver's pruning.
 *
 * @param unknown takes the path of each field that was left out
 */
export function pruned(
  value: unknown,
  schema: Structural | undefined,
  unknown: string[],
  { path = '', keyed = '', isResource = false, keepsMetadata = false }: Place = {},
): unknown {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (!items && isPreserving(schema)) return value;
    return value.map((item: unknown, i) =>
      pruned(item, items, unknown, {
        path: `${path}[${i}]`,
        keyed: `${keyed}[${i}]`,
        isResource: isEmbedded(items),
        keepsMetadata,
      }),
    );
  }
  return isObject(value)
    ? prunedObject(value, schema, unknown, { path, keyed, isResource, keepsMetadata })
    : value;
}

function prunedObject(
  value: JsonObject,
  schema: Structural | undefined,
  unknown: string[],
  { path, keyed, isResource, keepsMetadata }: Required<Place>,
): JsonObject {
  const out: Draft = {};
  for (const [key, inner] of Object.entries(value)) {
    const declared = propertyOf(schema, key);
    const of = declared ?? valuesOf(schema);
    const place = below(path, key);
    const at = { path: place, keyed: declared ? below(keyed, key) : `${keyed}[${key}]`, keepsMetadata };
    if (isResource && resourceFields.has(key))
      setOwn(out, key, resourceField(key, inner, { ...at, path, keyed: below(keyed, key) }, unknown));
    else if (of) setOwn(out, key, pruned(inner, of, unknown, { ...at, isResource: isEmbedded(of) }));
    else if (keepsAll(schema)) setOwn(out, key, inner);
    else unknown.push(place);
  }
  return out;
}

/** Returns the value of a field that all resources have. */
function resourceField(
  key: string,
  value: unknown,
  { path = '', keyed = '', keepsMetadata = false }: Place,
  unknown: string[],
): unknown {
  if (key !== 'metadata' || path === '') return value;
  const metadata = prunedMetadata(value, keyed, unknown);
  return keepsMetadata ? value : metadata;
}

/** Returns the metadata of an embedded resource with the fields that all objects have. */
function prunedMetadata(metadata: unknown, path: string, unknown: string[]): unknown {
  if (!isObject(metadata)) return metadata;
  const fields = fieldsOf('ObjectMeta');
  const foreign = Object.keys(metadata).filter((key) => !fields.has(key));
  unknown.push(...foreign.map((key) => below(path, key)));
  return foreign.length === 0 ? metadata : without(metadata, ...foreign);
}

/** Returns a value, or the default of its schema where it is absent, or null and may not be null. */
function orDefault(value: unknown, schema: Structural | undefined): unknown {
  const fallback = schema && ownMember(schema, 'default');
  if (fallback === undefined) return value;
  const isVoid = value === undefined || (value === null && schema?.['nullable'] !== true);
  return isVoid ? fallback : value;
}

/** Reports whether a null is dropped: its schema neither allows it nor has a default for it. */
const isDropped = (value: unknown, schema: Structural | undefined): boolean =>
  value === null &&
  schema !== undefined &&
  schema['nullable'] !== true &&
  (ownMember(schema, 'default') ?? null) === null;

/** How defaults are set. */
interface Defaulting {
  /** Whether nulls stay that stand for absent members, as in what is applied. Default: false. */
  readonly keepsNulls?: boolean;
}

/** Returns the value with the defaults of its schema, and without nulls that stand for absent members. Follows apiextensions-apiserver. */
export function withSchemaDefaults(
  value: unknown,
  schema: Structural | undefined,
  how: Defaulting = {},
): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return value.map((item: unknown) => withSchemaDefaults(orDefault(item, items), items, how));
  }
  if (!isObject(value)) return value;
  const out: Draft = {};
  for (const key of new Set([...Object.keys(value), ...Object.keys(objectAt(schema, 'properties'))])) {
    const declared = propertyOf(schema, key) ?? valuesOf(schema);
    const member = orDefault(ownMember(value, key), declared);
    if (member !== undefined && (how.keepsNulls === true || !isDropped(member, declared)))
      setOwn(out, key, withSchemaDefaults(member, declared, how));
  }
  return out;
}

const deduced: Shape = { is: 'scalar', scalar: 'any', deduced: true };
const text: Shape = { is: 'scalar', scalar: 'string' };
/** A text with a format: like a time, any scalar may stand for it. */
const anyScalar: Shape = { is: 'scalar', scalar: 'time' };
const metadata: Shape = { is: 'struct', type: 'ObjectMeta', atomic: false };
const resourceShapes: readonly (readonly [string, Shape])[] = [
  ['apiVersion', text],
  ['kind', text],
  ['metadata', metadata],
];

const fieldOf = (name: string, shape: Shape): FieldType => ({
  name,
  shape,
  required: false,
  pointer: true,
  always: false,
});

/** Returns what server-side apply has to know of a schema. Follows kube-openapi's `schemaconv`. */
export const shapeOfSchema = (schema: Structural, isResource = false): Shape =>
  shapeBelow(schema, { isResource, isPreserved: false });

/** What a schema takes over from the one around it. */
interface Around {
  readonly isResource: boolean;
  /** Whether a schema around it keeps unknown fields: then those below do too. */
  readonly isPreserved: boolean;
}

function shapeBelow(schema: Structural, around: Around): Shape {
  if (isIntOrString(schema)) return deduced;
  const isPreserved = around.isPreserved || isPreserving(schema);
  switch (schema['type']) {
    case 'object':
      return objectShape(schema, { ...around, isPreserved });
    case 'array':
      return listShape(schema, isPreserved);
    case 'string':
      return ['', 'byte'].includes(stringAt(schema, 'format')) ? text : anyScalar;
    case 'boolean':
      return { is: 'scalar', scalar: 'boolean' };
    case 'integer':
    case 'number':
      return { is: 'scalar', scalar: 'double' };
    default:
      return deduced;
  }
}

function objectShape(schema: Structural, { isResource, isPreserved }: Around): Shape {
  const atomic = schema['x-kubernetes-map-type'] === 'atomic';
  const resource = isResource || isEmbedded(schema);
  const inner = (one: Structural): Shape => shapeBelow(one, { isResource: false, isPreserved });
  const properties = Object.entries(objectAt(schema, 'properties')).filter(
    (one): one is [string, JsonObject] => isObject(one[1]),
  );
  const values = ownMember(schema, 'additionalProperties');
  if (properties.length === 0 && !resource)
    return { is: 'map', of: isObject(values) ? inner(values) : deduced, atomic };
  const fields = new Map(properties.map(([name, one]) => [name, fieldOf(name, inner(one))]));
  if (resource) for (const [name, shape] of resourceShapes) fields.set(name, fieldOf(name, shape));
  const rest = isPreserved || values === true ? { rest: deduced } : {};
  return { is: 'struct', type: '', atomic, fields, ...rest };
}

function listShape(schema: Structural, isPreserved: boolean): Shape {
  const items = itemsOf(schema) ?? {};
  const of = shapeBelow(items, { isResource: false, isPreserved });
  const type = stringAt(schema, 'x-kubernetes-list-type');
  if (type === 'set') return { is: 'list', of, merge: { kind: 'set', keys: [] } };
  if (type !== 'map') return { is: 'list', of, merge: { kind: 'atomic', keys: [] } };
  const keys = listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[];
  const defaults: Draft = {};
  for (const key of keys) {
    const fallback = ownMember(propertyOf(items, key) ?? {}, 'default');
    if (fallback !== undefined) setOwn(defaults, key, fallback);
  }
  return { is: 'list', of, merge: { kind: 'map', keys, defaults } };
}
