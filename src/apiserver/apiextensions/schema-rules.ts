import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, listAt, objectAt, objectsAt, stringAt } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { rulePath } from './rule-paths.ts';

/** Where a schema stands. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** Inside of the metadata, kind or apiVersion of a resource. */
  readonly inMeta: boolean;
  /** Why there may be no default; absent: there may be one. */
  readonly noDefault?: string;
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const metaFields = new Set(['metadata', 'kind', 'apiVersion']);
const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
/** Members of JSON schema that are not supported. */
const unsupportedMembers = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
];

/** What a schema says that no schema of a custom resource may say. Follows `ValidateCustomResourceDefinitionOpenAPISchema`. */
export const schemaFaults = (schema: JsonObject, path: string): readonly FieldFault[] =>
  faultsOf(schema, { path, isRoot: true, inMeta: false });

function faultsOf(schema: JsonObject, place: Place): FieldFault[] {
  return [
    ...standardFaults(schema, place),
    ...childFaults(schema, place),
    ...mapTypeFaults(schema, place),
    ...listTypeFaults(schema, place),
    ...keyFaults(schema, place),
    ...objectsAt(schema, 'x-kubernetes-validations').flatMap((rule, i) =>
      ruleFaults(rule, `${place.path}.x-kubernetes-validations[${i}]`, schema),
    ),
  ];
}

function standardFaults(schema: JsonObject, { path, noDefault, inMeta }: Place): FieldFault[] {
  const faults: FieldFault[] = [];
  const forbid = (name: string, why: string): void =>
    void faults.push(fault.forbidden(`${path}.${name}`, why));
  const type = stringAt(schema, 'type');
  if (type !== '' && !types.includes(type)) faults.push(fault.unsupported(`${path}.type`, type, types));
  if (ownMember(schema, 'default') !== undefined && noDefault !== undefined)
    forbid('default', `must not be set ${noDefault}`);
  for (const name of unsupportedMembers)
    if (ownMember(schema, name) !== undefined) forbid(name, `${name} is not supported`);
  if (type === 'null') forbid('type', 'type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(schema['items'])) forbid('items', 'items must be a schema object and not an array');
  if (inMeta && schema['x-kubernetes-embedded-resource'] === true)
    forbid('x-kubernetes-embedded-resource', 'must not be used inside of resource meta');
  if (schema['uniqueItems'] === true)
    forbid('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  return faults;
}

/** Faults of the schemas that stand in this one. */
function childFaults(schema: JsonObject, place: Place): FieldFault[] {
  const inside = { ...place, isRoot: false };
  const at = (inner: unknown, below: string): FieldFault[] =>
    isObject(inner) ? faultsOf(inner, { ...inside, path: place.path + below }) : [];
  return [
    ...additionalFaults(schema, inside),
    ...propertyFaults(schema, place),
    ...['not', 'items'].flatMap((key) => at(ownMember(schema, key), `.${key}`)),
    ...['allOf', 'oneOf', 'anyOf'].flatMap((junctor) =>
      objectsAt(schema, junctor).flatMap((inner, i) => at(inner, `.${junctor}[${i}]`)),
    ),
  ];
}

function additionalFaults(schema: JsonObject, place: Place): FieldFault[] {
  const rest = ownMember(schema, 'additionalProperties');
  const path = `${place.path}.additionalProperties`;
  const isBoth =
    Object.keys(objectAt(schema, 'properties')).length > 0 && rest !== undefined && rest !== true;
  const faults = isBoth
    ? [fault.forbidden(path, 'additionalProperties and properties are mutual exclusive')]
    : [];
  if (!isObject(rest)) return faults;
  const noDefault = place.inMeta && { noDefault: 'inside additionalProperties applying to object metadata' };
  return [...faults, ...faultsOf(rest, { ...place, path, ...noDefault })];
}

function propertyFaults(schema: JsonObject, place: Place): FieldFault[] {
  const isResource = place.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  return Object.entries(objectAt(schema, 'properties')).flatMap(([key, inner]) => {
    if (!isObject(inner)) return [];
    const meta = isResource &&
      metaFields.has(key) && { inMeta: true, ...(place.isRoot && { noDefault: `in top-level ${key}` }) };
    return faultsOf(inner, { ...place, isRoot: false, path: `${place.path}.properties[${key}]`, ...meta });
  });
}

/** The type that an extension asks for. */
function typeNeeded(schema: JsonObject, path: string, type: string, extension: string): FieldFault[] {
  const found = stringAt(schema, 'type');
  if (found === type) return [];
  const why = `must be ${type} if ${extension} is specified`;
  return [found === '' ? fault.required(`${path}.type`, why) : fault.invalid(`${path}.type`, found, why)];
}

function mapTypeFaults(schema: JsonObject, { path }: Place): FieldFault[] {
  const preserve = 'x-kubernetes-preserve-unknown-fields';
  const faults: FieldFault[] = [];
  if (schema[preserve] === false)
    faults.push(fault.invalid(`${path}.${preserve}`, false, 'must be true or undefined'));
  const type = schema['x-kubernetes-map-type'];
  if (type === undefined) return faults;
  faults.push(...typeNeeded(schema, path, 'object', 'x-kubernetes-map-type'));
  if (type !== 'atomic' && type !== 'granular')
    faults.push(fault.unsupported(`${path}.x-kubernetes-map-type`, type, ['atomic', 'granular']));
  return faults;
}

function listTypeFaults(schema: JsonObject, { path }: Place): FieldFault[] {
  const faults: FieldFault[] = [];
  const type = schema['x-kubernetes-list-type'];
  const keys = listAt(schema, 'x-kubernetes-list-map-keys');
  const items = objectAt(schema, 'items');
  if (type !== undefined) {
    const wrong = typeNeeded(schema, path, 'array', 'x-kubernetes-list-type');
    faults.push(...wrong);
    if (type === 'set' && wrong.length === 0) faults.push(...setItemFaults(items, `${path}.items`));
    if (type !== 'atomic' && type !== 'set' && type !== 'map')
      faults.push(fault.unsupported(`${path}.x-kubernetes-list-type`, type, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && type !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const field = `${path}.x-kubernetes-list-type`;
    faults.push(type === undefined ? fault.required(field, why) : fault.invalid(field, type, why));
  }
  return faults;
}

function setItemFaults(items: JsonObject, path: string): FieldFault[] {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const [list, map] = [items['x-kubernetes-list-type'], items['x-kubernetes-map-type']];
  if (items['type'] === 'array' && list !== undefined && list !== 'atomic')
    return [fault.invalid(`${path}.x-kubernetes-list-type`, list, why)];
  if (items['type'] === 'object' && map !== 'atomic')
    return [fault.invalid(`${path}.x-kubernetes-map-type`, items['x-kubernetes-list-type'], why)];
  return [];
}

/** Rules of lists whose items have keys. */
function keyFaults(schema: JsonObject, { path }: Place): FieldFault[] {
  const type = schema['x-kubernetes-list-type'];
  const items = ownMember(schema, 'items');
  if (type !== 'map' && type !== 'set') return [];
  const faults = type === 'map' ? mapKeyFaults(schema, path) : [];
  if (!isObject(items)) return faults;
  if (items['nullable'] === true)
    faults.push(
      fault.forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${type}`),
    );
  if (type === 'set') return faults;
  const required = new Set(listAt(items, 'required'));
  for (const key of listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[]) {
    const property = ownMember(objectAt(items, 'properties'), key);
    if (!isObject(property)) continue;
    const at = `${path}.items.properties[${key}]`;
    const what = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!required.has(key) && ownMember(property, 'default') === undefined)
      faults.push(fault.required(`${at}.default`, `${what} must have a default or be a required property`));
    if (property['nullable'] === true)
      faults.push(fault.forbidden(`${at}.nullable`, `${what} cannot be nullable`));
  }
  return faults;
}

function mapKeyFaults(schema: JsonObject, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const keys = listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[];
  const field = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0)
    faults.push(fault.required(field, 'must not be empty if x-kubernetes-list-type is map'));
  const items = ownMember(schema, 'items');
  if (items === undefined)
    faults.push(fault.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  if (!isObject(items)) return faults;
  const type = stringAt(items, 'type');
  if (type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    return [...faults, fault.invalid(`${path}.items.type`, type, why)];
  }
  for (const [i, key] of keys.entries()) {
    const property = ownMember(objectAt(items, 'properties'), key);
    if (!isObject(property))
      faults.push(fault.invalid(field, keys, 'entries must all be names of item properties'));
    else if (property['type'] === 'array' || property['type'] === 'object')
      faults.push(
        fault.invalid(
          `${path}.items.properties[${key}].type`,
          type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      );
    if (keys.indexOf(key) < i) faults.push(fault.invalid(field, keys, 'must not contain duplicate entries'));
  }
  return faults;
}

const hasBreaks = (text: string): boolean => /[\n\r]/.test(text);

/** The form of a rule; its expressions are compiled elsewhere. */
function ruleFaults(rule: JsonObject, path: string, schema: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  const text = (key: string): string => stringAt(rule, key);
  const [trimmedRule, message] = [text('rule').trim(), text('message').trim()];
  if (trimmedRule === '') faults.push(fault.required(`${path}.rule`, 'rule is not specified'));
  else if (text('message') !== '' && message === '')
    faults.push(fault.invalid(`${path}.message`, text('message'), 'must be non-empty if specified'));
  else if (hasBreaks(message))
    faults.push(fault.invalid(`${path}.message`, text('message'), 'must not contain line breaks'));
  else if (hasBreaks(trimmedRule) && message === '')
    faults.push(fault.required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (text('messageExpression') !== '' && text('messageExpression').trim() === '')
    faults.push(
      fault.required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'),
    );
  const reason = text('reason');
  if (reason !== '' && !reasons.includes(reason))
    faults.push(fault.unsupported(`${path}.reason`, reason, reasons));
  return [...faults, ...fieldPathFaults(text('fieldPath'), `${path}.fieldPath`, schema)];
}

function fieldPathFaults(value: string, path: string, schema: JsonObject): FieldFault[] {
  if (value === '') return [];
  const whys = [
    ...(value.trim() === '' ? ['must be non-empty if specified'] : []),
    ...(hasBreaks(value) ? ['must not contain line breaks'] : []),
    ...(rulePath(value, schema) === undefined ? ['must be a valid path'] : []),
  ];
  return whys.map((why) => fault.invalid(path, value, why));
}
