import { ownMember, tableOf } from '../../base/own.ts';
import numbers from './api-protobuf.json' with { type: 'json' };
import { type FieldType, fieldsOf, isKnownType, type Scalar, type Shape } from '../api-types.ts';
import { isObject, type JsonObject, listAt, objectAt, objectsAt, stringAt, textOf } from '../json.ts';
import { findByKind } from '../kinds.ts';
import { schemaType, type Union, unions } from './schema-unions.ts';
import { bytesField, doubleField, intField } from '../../base/protobuf-wire.ts';

interface Numbers {
  readonly [number: string]: string | Numbers;
}
const table = tableOf(numbers as Readonly<Record<string, Numbers>>);
const magic = Buffer.from('k8s\0');

const wholeOf = (value: unknown): bigint => BigInt(Math.trunc(Number(value ?? 0)));

/** Writes a `google.protobuf.Timestamp`; the zero time is an empty message. */
function time(value: unknown): Buffer {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) return Buffer.alloc(0);
  const fraction = /\.(\d+)/.exec(textOf(value))?.[1] ?? '';
  return Buffer.concat([
    intField(1, Math.floor(at / 1000)),
    intField(2, Number(fraction.padEnd(9, '0').slice(0, 9))),
  ]);
}

const intOrString = (value: unknown): Buffer =>
  typeof value === 'string'
    ? Buffer.concat([intField(1, 1), intField(2, 0), bytesField(3, value)])
    : Buffer.concat([intField(1, 0), intField(2, wholeOf(value)), bytesField(3, '')]);

const scalars: Readonly<Record<Scalar, (number: number, value: unknown) => Buffer>> = {
  string: (number, value) => bytesField(number, textOf(value)),
  boolean: (number, value) => intField(number, value === true ? 1 : 0),
  int32: (number, value) => intField(number, wholeOf(value)),
  int64: (number, value) => intField(number, wholeOf(value)),
  double: (number, value) => doubleField(number, Number(value)),
  time: (number, value) => bytesField(number, time(value)),
  microtime: (number, value) => bytesField(number, time(value)),
  bytes: (number, value) => bytesField(number, Buffer.from(textOf(value), 'base64')),
  intstr: (number, value) => bytesField(number, intOrString(value)),
  quantity: (number, value) => bytesField(number, bytesField(1, textOf(value))),
  // RawExtension and FieldsV1 carry JSON
  any: (number, value) => bytesField(number, bytesField(1, JSON.stringify(value))),
};

/** Lists that are messages of their own. */
const wrapped = new Set(['APIResource.verbs']);
/** Fields that Go writes even without a value; plain numbers, texts and booleans are determined by their kind. */
const alwaysWritten = new Set(['ObjectMeta.creationTimestamp']);
/** Numbers that are omitted when unset. */
const neverZero = new Set(['ListMeta.remainingItemCount']);
const plain: ReadonlySet<Scalar> = new Set<Scalar>(['string', 'boolean', 'int32', 'int64']);

function write(number: number, value: unknown, shape: Shape): Buffer {
  switch (shape.is) {
    case 'scalar':
      return scalars[shape.scalar](number, value);
    case 'struct':
      return bytesField(number, message(isObject(value) ? value : {}, shape.type));
    case 'list':
      return Buffer.concat(
        (Array.isArray(value) ? (value as unknown[]) : []).map((item) => write(number, item, shape.of)),
      );
    case 'map':
      return Buffer.concat(
        Object.entries(isObject(value) ? value : {})
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) =>
            bytesField(number, Buffer.concat([bytesField(1, key), mapValue(inner, shape.of)])),
          ),
      );
  }
}

const mapValue = (value: unknown, shape: Shape): Buffer =>
  shape.is === 'list' ? bytesField(2, write(1, value, shape)) : write(2, value, shape);

/** Reports whether a field is written although it is unset. */
function standsEmpty(type: string, field: FieldType): boolean {
  const place = `${type}.${field.name}`;
  if (alwaysWritten.has(place)) return true;
  if (field.shape.is === 'struct') return field.always;
  if (field.shape.is !== 'scalar') return false;
  if (field.shape.scalar === 'time' || field.shape.scalar === 'microtime') return field.always;
  return plain.has(field.shape.scalar) && !field.pointer && !neverZero.has(place);
}

function message(object: JsonObject, type: string, names: Numbers = table[type] ?? {}): Buffer {
  const fields = fieldsOf(type);
  const out: Buffer[] = [];
  for (const [text, name] of Object.entries(names)) {
    const number = Number(text);
    if (typeof name !== 'string') {
      out.push(bytesField(number, message(object, type, name)));
      continue;
    }
    const field = fields.get(name);
    if (!field) continue;
    const value = ownMember(object, name);
    if ((value === undefined || value === null) && !standsEmpty(type, field)) continue;
    const union = unions[`${type}.${name}`];
    if (union) {
      out.push(writeUnion(number, value, field.shape, union));
      continue;
    }
    const own = wrapped.has(`${type}.${name}`);
    out.push(own ? bytesField(number, write(1, value, field.shape)) : write(number, value, field.shape));
  }
  return Buffer.concat(out);
}

/** Writes a field that is one of several types in JSON, or a map of such. */
function writeUnion(number: number, value: unknown, shape: Shape, union: Union): Buffer {
  if (shape.is !== 'map') return bytesField(number, unionBody(value, union));
  return Buffer.concat(
    Object.entries(isObject(value) ? value : {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) =>
        bytesField(number, Buffer.concat([bytesField(1, key), bytesField(2, unionBody(inner, union))])),
      ),
  );
}

function unionBody(value: unknown, union: Union): Buffer {
  const schema = (at: number, one: unknown): Buffer =>
    bytesField(at, message(isObject(one) ? one : {}, schemaType));
  if (union === 'schema-or-bool')
    return isObject(value)
      ? Buffer.concat([intField(1, 1), schema(2, value)])
      : intField(1, value === true ? 1 : 0);
  if (!Array.isArray(value)) return schema(1, value);
  return Buffer.concat(
    (value as unknown[]).map((one) =>
      union === 'schema-or-array' ? schema(2, one) : bytesField(2, textOf(one)),
    ),
  );
}

/** Reports whether objects of a type can be written. */
export const isWritable = (type: string): boolean => isKnownType(type) && Object.hasOwn(table, type);

const metaTypes = new Set('Status APIVersions APIGroup'.split(' '));

const list = (object: JsonObject, item: (object: JsonObject) => Buffer): Buffer =>
  Buffer.concat([
    bytesField(1, message(objectAt(object, 'metadata'), 'ListMeta')),
    ...objectsAt(object, 'items').map((one) => bytesField(2, item(one))),
  ]);

const each = (
  number: number,
  object: JsonObject,
  key: string,
  item: (object: JsonObject) => Buffer,
): Buffer => Buffer.concat(objectsAt(object, key).map((one) => bytesField(number, item(one))));
const text = (number: number, object: JsonObject, key: string): Buffer =>
  bytesField(number, stringAt(object, key));
const texts = (number: number, object: JsonObject, key: string): Buffer =>
  Buffer.concat(listAt(object, key).map((one) => bytesField(number, textOf(one))));
const metadataOnly = (object: JsonObject): Buffer =>
  bytesField(1, message(objectAt(object, 'metadata'), 'ObjectMeta'));

const kindNamed = (object: JsonObject): Buffer =>
  Buffer.concat([text(1, object, 'group'), text(2, object, 'version'), text(3, object, 'kind')]);
const respondsWith = (object: JsonObject): Buffer =>
  isObject(object['responseKind']) ? bytesField(2, kindNamed(object['responseKind'])) : Buffer.alloc(0);

const subresourceFound = (object: JsonObject): Buffer =>
  Buffer.concat([
    text(1, object, 'subresource'),
    respondsWith(object),
    each(3, object, 'acceptedTypes', kindNamed),
    texts(4, object, 'verbs'),
  ]);

const resourceFound = (object: JsonObject): Buffer =>
  Buffer.concat([
    text(1, object, 'resource'),
    respondsWith(object),
    text(3, object, 'scope'),
    text(4, object, 'singularResource'),
    texts(5, object, 'verbs'),
    texts(6, object, 'shortNames'),
    texts(7, object, 'categories'),
    each(8, object, 'subresources', subresourceFound),
  ]);

const versionFound = (object: JsonObject): Buffer =>
  Buffer.concat([
    text(1, object, 'version'),
    each(2, object, 'resources', resourceFound),
    text(3, object, 'freshness'),
  ]);

/** Kinds whose types are not stored. */
const special: Readonly<Record<string, (object: JsonObject) => Buffer>> = tableOf({
  PartialObjectMetadata: metadataOnly,
  PartialObjectMetadataList: (object) => list(object, metadataOnly),
  APIGroupList: (object) => each(1, object, 'groups', (group) => message(group, 'APIGroup')),
  APIResourceList: (object) =>
    Buffer.concat([
      text(1, object, 'groupVersion'),
      each(2, object, 'resources', (resource) => message(resource, 'APIResource')),
    ]),
  APIGroupDiscoveryList: (object) =>
    list(object, (group) => Buffer.concat([metadataOnly(group), each(2, group, 'versions', versionFound)])),
});

/** Returns the message of an object by its kind; `undefined`: it has none. */
function bodyOf(apiVersion: string, kind: string, object: JsonObject): Buffer | undefined {
  if (metaTypes.has(kind)) return message(object, kind);
  const own = special[kind];
  if (own) return own(object);
  const single = findByKind(apiVersion, kind);
  if (single) return isWritable(single.type) ? message(object, single.type) : undefined;
  const many = kind.endsWith('List') ? findByKind(apiVersion, kind.slice(0, -4)) : undefined;
  return many && isWritable(many.type) ? list(object, (item) => message(item, many.type)) : undefined;
}

/** Writes an object as protobuf in its envelope; `undefined`: its kind has no message. */
export function writeProtobuf(object: JsonObject): Buffer | undefined {
  const [apiVersion, kind] = [stringAt(object, 'apiVersion'), stringAt(object, 'kind')];
  const body = bodyOf(apiVersion, kind, object);
  if (!body) return undefined;
  const meta = Buffer.concat([bytesField(1, apiVersion), bytesField(2, kind)]);
  return Buffer.concat([
    magic,
    bytesField(1, meta),
    bytesField(2, body),
    bytesField(3, ''),
    bytesField(4, ''),
  ]);
}

/** Writes one event of a watch, preceded by its length. */
export function writeProtobufEvent(type: string, object: JsonObject): Buffer {
  const event = Buffer.concat([
    bytesField(1, type),
    bytesField(2, bytesField(1, writeProtobuf(object) ?? Buffer.alloc(0))),
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
