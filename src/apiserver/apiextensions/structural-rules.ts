import { regexpFault } from '../../go/regexp-fault.ts';
import { ownMember } from '../../base/own.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';

/** Where in a schema a rule stands. */
type Level = 'root' | 'item' | 'field';

const junctors = ['anyOf', 'allOf', 'oneOf'] as const;
const intOrStringTypes = [{ type: 'integer' }, { type: 'string' }];
const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/** The schema under `key`; `undefined` where there is none. */
const schemaAt = (schema: JsonObject, key: string): JsonObject | undefined => {
  const inner = ownMember(schema, key);
  return isObject(inner) ? inner : undefined;
};

const propertiesOf = (schema: JsonObject): readonly (readonly [string, JsonObject])[] =>
  Object.entries(objectAt(schema, 'properties')).filter((one): one is [string, JsonObject] =>
    isObject(one[1]),
  );

/** What keeps a schema from being structural, sorted. Follows apiextensions-apiserver `ValidateStructural`. */
export function structuralFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const faults = [...invariants(schema, 'root', path), ...junctorCompleteness(schema, schema, path, path)];
  const text = ({ field, message }: FieldFault): string => `${field}: ${message}`;
  return faults.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

function invariants(schema: JsonObject, level: Level, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const items = schemaAt(schema, 'items');
  if (schema['type'] === 'array' && !items) faults.push(fault.required(`${path}.items`, 'must be specified'));
  if (items) faults.push(...invariants(items, 'item', `${path}.items`));
  for (const [key, inner] of propertiesOf(schema))
    faults.push(...invariants(inner, 'field', `${path}.properties[${key}]`));
  const rest = ownMember(schema, 'additionalProperties');
  if (rest !== undefined && level === 'root')
    faults.push(fault.forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  if (isObject(rest)) faults.push(...invariants(rest, 'field', `${path}.additionalProperties`));
  return [
    ...faults,
    ...extensionFaults(schema, path),
    ...valueFaults(schema, intOrStringPattern(schema), path),
    ...typeFaults(schema, level, path),
    ...metadataFaults(schema, level, path),
  ];
}

function extensionFaults(schema: JsonObject, path: string): FieldFault[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return [];
  return ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']
    .filter((name) => ownMember(schema, name) === true)
    .map((name) =>
      fault.invalid(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'),
    );
}

/** Which of its junctors say that a value is a number or a text: types may stand there alone. */
function intOrStringPattern(schema: JsonObject): { readonly anyOf: boolean; readonly allOf: boolean } {
  const first = objectsAt(schema, 'allOf')[0];
  return {
    anyOf: sameJson(schema['anyOf'], intOrStringTypes),
    allOf: first !== undefined && sameJson(first['anyOf'], intOrStringTypes),
  };
}

function typeFaults(schema: JsonObject, level: Level, path: string): FieldFault[] {
  const type = stringAt(schema, 'type');
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const isFree =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const faults: FieldFault[] = [];
  if (isEmbedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true';
    faults.push(type === '' ? fault.required(`${path}.type`, why) : fault.invalid(`${path}.type`, type, why));
  } else if (type === '' && !isFree) faults.push(fault.required(`${path}.type`, emptyType[level]));
  if (isEmbedded && ownMember(schema, 'additionalProperties') !== undefined)
    faults.push(
      fault.forbidden(
        `${path}.additionalProperties`,
        'must not be used if x-kubernetes-embedded-resource is set',
      ),
    );
  if (level === 'root' && type !== '' && type !== 'object')
    faults.push(fault.invalid(`${path}.type`, type, 'must be object at the root'));
  return faults;
}

function metadataFaults(schema: JsonObject, level: Level, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const properties = objectAt(schema, 'properties');
  const isResource = level === 'root' || isEmbedded;
  const typeOf = (key: string): string | undefined => {
    const inner = schemaAt(properties, key);
    return inner && stringAt(inner, 'type');
  };
  const requireType = (key: string, type: string): void => {
    const found = typeOf(key);
    if (isResource && found !== undefined && found !== type)
      faults.push(fault.invalid(`${path}.properties[${key}].type`, found, `must be ${type}`));
  };
  requireType('kind', 'string');
  requireType('apiVersion', 'string');
  requireType('metadata', 'object');
  const metadata = schemaAt(properties, 'metadata');
  if (metadata && level === 'root' && !saysNamesAlone(metadata))
    faults.push(
      fault.forbidden(
        `${path}.properties[metadata]`,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  if (
    isEmbedded &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true &&
    Object.keys(properties).length === 0
  )
    faults.push(
      fault.required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
  return faults;
}

/** Whether the schema of metadata says nothing but how an object may be named. */
function saysNamesAlone({ type: _t, default: _d, properties, ...rest }: JsonObject): boolean {
  const names = isObject(properties) ? Object.keys(properties) : [];
  return Object.keys(rest).length === 0 && names.every((name) => name === 'name' || name === 'generateName');
}

/** What junctors must not say: types and the like belong outside of them. */
function valueFaults(
  schema: JsonObject,
  skip: { readonly anyOf: boolean; readonly allOf: boolean },
  path: string,
): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const junctor of junctors) {
    if (junctor === 'anyOf' && skip.anyOf) continue;
    for (const [i, inner] of objectsAt(schema, junctor).entries()) {
      const isPattern = junctor === 'allOf' && i === 0 && skip.allOf;
      faults.push(...nestedFaults(inner, { anyOf: isPattern, allOf: false }, `${path}.${junctor}[${i}]`));
    }
  }
  const not = schemaAt(schema, 'not');
  if (not) faults.push(...nestedFaults(not, { anyOf: false, allOf: false }, `${path}.not`));
  const pattern = stringAt(schema, 'pattern');
  const why = pattern === '' ? undefined : regexpFault(pattern);
  if (why !== undefined)
    faults.push(
      fault.invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${why}`),
    );
  return faults;
}

/** Members that a schema inside a junctor may not have, and what is said of them. */
const forbiddenNested: readonly (readonly [name: string, why: string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

function nestedFaults(
  schema: JsonObject,
  skip: { readonly anyOf: boolean; readonly allOf: boolean },
  path: string,
): FieldFault[] {
  const none = { anyOf: false, allOf: false };
  const faults = valueFaults(schema, skip, path);
  const items = schemaAt(schema, 'items');
  if (items) faults.push(...nestedFaults(items, none, `${path}.items`));
  for (const [key, inner] of propertiesOf(schema))
    faults.push(...nestedFaults(inner, none, `${path}.properties[${key}]`));
  for (const [name, why] of forbiddenNested) {
    const value = ownMember(schema, name);
    if (value !== undefined && value !== '' && value !== false)
      faults.push(fault.forbidden(`${path}.${name}`, why));
  }
  if (schemaAt(objectAt(schema, 'properties'), 'metadata'))
    faults.push(fault.forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  return faults;
}

/** Validates that what the root's junctors talk about is declared outside of them. */
function junctorCompleteness(
  value: JsonObject,
  schema: JsonObject,
  path: string,
  valuePath: string,
): FieldFault[] {
  const not = schemaAt(value, 'not');
  return [
    ...(not ? nestedCompleteness(not, schema, path, `${valuePath}.not`) : []),
    ...junctors.flatMap((junctor) =>
      objectsAt(value, junctor).flatMap((inner, i) =>
        nestedCompleteness(inner, schema, path, `${valuePath}.${junctor}[${i}]`),
      ),
    ),
  ];
}

function nestedCompleteness(
  value: JsonObject,
  schema: JsonObject | undefined,
  path: string,
  valuePath: string,
): FieldFault[] {
  if (!schema) return [fault.required(path, `because it is defined in ${valuePath}`)];
  const faults = junctorCompleteness(value, schema, path, valuePath);
  const items = schemaAt(value, 'items');
  if (items)
    faults.push(
      ...nestedCompleteness(items, schemaAt(schema, 'items'), `${path}.items`, `${valuePath}.items`),
    );
  for (const [key, inner] of propertiesOf(value)) {
    const below = `.properties[${key}]`;
    const outside = schemaAt(objectAt(schema, 'properties'), key);
    faults.push(...nestedCompleteness(inner, outside, path + below, valuePath + below));
  }
  return faults;
}

/** Whether any part of a schema is so. */
export function someSchema(schema: JsonObject, is: (schema: JsonObject) => boolean): boolean {
  if (is(schema)) return true;
  const single = ['items', 'additionalProperties', 'not'].map((key) => schemaAt(schema, key));
  const named = Object.values(objectAt(schema, 'properties')).filter(isObject);
  const many = junctors.flatMap((junctor) => objectsAt(schema, junctor));
  return [...single, ...named, ...many].some((inner) => inner !== undefined && someSchema(inner, is));
}

/** Whether a schema has rules in CEL. */
export const hasRules = (schema: JsonObject): boolean =>
  someSchema(schema, (one) => listAt(one, 'x-kubernetes-validations').length > 0);
