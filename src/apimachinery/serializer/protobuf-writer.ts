import numbers from './api-protobuf.json' with { type: 'json' };
import { type FieldType, fieldsOf, isKnownType, type Scalar, type Shape } from '../api-types.ts';
import { isObject, type JsonObject, listAt, objectAt, objectsAt, stringAt, textOf } from '../json.ts';
import { findByKind } from '../kinds.ts';
import { bytes, double, int } from '../../apiserver/protobuf-wire.ts';

type Numbers = Readonly<Record<string, string | Readonly<Record<string, string>>>>;
const table = numbers as Readonly<Record<string, Numbers>>;
const magic = Buffer.from('k8s\0');

const wholeOf = (value: unknown): bigint => BigInt(Math.trunc(Number(value ?? 0)));

/** `google.protobuf.Timestamp`; the zero time is an empty message. */
function time(value: unknown): Buffer {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) return Buffer.alloc(0);
  const fraction = /\.(\d+)/.exec(textOf(value))?.[1] ?? '';
  return Buffer.concat([int(1, Math.floor(at / 1000)), int(2, Number(fraction.padEnd(9, '0').slice(0, 9)))]);
}

const intOrString = (value: unknown): Buffer =>
  typeof value === 'string'
    ? Buffer.concat([int(1, 1), int(2, 0), bytes(3, value)])
    : Buffer.concat([int(1, 0), int(2, wholeOf(value)), bytes(3, '')]);

const scalars: Readonly<Record<Scalar, (number: number, value: unknown) => Buffer>> = {
  string: (number, value) => bytes(number, textOf(value)),
  boolean: (number, value) => int(number, value === true ? 1 : 0),
  int32: (number, value) => int(number, wholeOf(value)),
  int64: (number, value) => int(number, wholeOf(value)),
  double: (number, value) => double(number, Number(value)),
  time: (number, value) => bytes(number, time(value)),
  microtime: (number, value) => bytes(number, time(value)),
  bytes: (number, value) => bytes(number, Buffer.from(textOf(value), 'base64')),
  intstr: (number, value) => bytes(number, intOrString(value)),
  quantity: (number, value) => bytes(number, bytes(1, textOf(value))),
  // RawExtension and FieldsV1 carry JSON
  any: (number, value) => bytes(number, bytes(1, JSON.stringify(value))),
};

/** Lists that are a message of their own. */
const wrapped = new Set(['APIResource.verbs']);
/** Fields without a value that Go writes all the same; those of plain numbers, texts and booleans are told by their kind. */
const alwaysWritten = new Set(['ObjectMeta.creationTimestamp']);
/** Numbers that are left out when they are not set. */
const neverZero = new Set(['ListMeta.remainingItemCount']);
const plain: ReadonlySet<Scalar> = new Set<Scalar>(['string', 'boolean', 'int32', 'int64']);

function write(number: number, value: unknown, shape: Shape): Buffer {
  switch (shape.is) {
    case 'scalar':
      return scalars[shape.scalar](number, value);
    case 'struct':
      return bytes(number, message(isObject(value) ? value : {}, shape.type));
    case 'list':
      return Buffer.concat(
        (Array.isArray(value) ? (value as unknown[]) : []).map((item) => write(number, item, shape.of)),
      );
    case 'map':
      return Buffer.concat(
        Object.entries(isObject(value) ? value : {})
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) => bytes(number, Buffer.concat([bytes(1, key), mapValue(inner, shape.of)]))),
      );
  }
}

const mapValue = (value: unknown, shape: Shape): Buffer =>
  shape.is === 'list' ? bytes(2, write(1, value, shape)) : write(2, value, shape);

/** Whether a field stands in the message although it is not set. */
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
      out.push(bytes(number, message(object, type, name)));
      continue;
    }
    const field = fields.get(name);
    if (!field) continue;
    const value = object[name];
    if ((value === undefined || value === null) && !standsEmpty(type, field)) continue;
    const own = wrapped.has(`${type}.${name}`);
    out.push(own ? bytes(number, write(1, value, field.shape)) : write(number, value, field.shape));
  }
  return Buffer.concat(out);
}

/** Whether objects of a type can be written. */
export const isWritable = (type: string): boolean => isKnownType(type) && type in table;

const metaTypes = new Set('Status APIVersions APIGroup'.split(' '));

const list = (object: JsonObject, item: (object: JsonObject) => Buffer): Buffer =>
  Buffer.concat([
    bytes(1, message(objectAt(object, 'metadata'), 'ListMeta')),
    ...objectsAt(object, 'items').map((one) => bytes(2, item(one))),
  ]);

const each = (
  number: number,
  object: JsonObject,
  key: string,
  item: (object: JsonObject) => Buffer,
): Buffer => Buffer.concat(objectsAt(object, key).map((one) => bytes(number, item(one))));
const text = (number: number, object: JsonObject, key: string): Buffer =>
  bytes(number, stringAt(object, key));
const texts = (number: number, object: JsonObject, key: string): Buffer =>
  Buffer.concat(listAt(object, key).map((one) => bytes(number, textOf(one))));
const metadataOnly = (object: JsonObject): Buffer =>
  bytes(1, message(objectAt(object, 'metadata'), 'ObjectMeta'));

const kindNamed = (object: JsonObject): Buffer =>
  Buffer.concat([text(1, object, 'group'), text(2, object, 'version'), text(3, object, 'kind')]);
const respondsWith = (object: JsonObject): Buffer =>
  isObject(object['responseKind']) ? bytes(2, kindNamed(object['responseKind'])) : Buffer.alloc(0);

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

/** Kinds whose types no stored object has. */
const special: Readonly<Record<string, (object: JsonObject) => Buffer>> = {
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
};

/** The message of an object by its kind; `undefined`: it has none. */
function bodyOf(apiVersion: string, kind: string, object: JsonObject): Buffer | undefined {
  if (metaTypes.has(kind)) return message(object, kind);
  const own = special[kind];
  if (own) return own(object);
  const single = findByKind(apiVersion, kind);
  if (single) return isWritable(single.type) ? message(object, single.type) : undefined;
  const many = kind.endsWith('List') ? findByKind(apiVersion, kind.slice(0, -4)) : undefined;
  return many && isWritable(many.type) ? list(object, (item) => message(item, many.type)) : undefined;
}

/** An object as Go clients like it best: the message in its envelope; `undefined`: its kind has no message. */
export function writeProtobuf(object: JsonObject): Buffer | undefined {
  const [apiVersion, kind] = [stringAt(object, 'apiVersion'), stringAt(object, 'kind')];
  const body = bodyOf(apiVersion, kind, object);
  if (!body) return undefined;
  const meta = Buffer.concat([bytes(1, apiVersion), bytes(2, kind)]);
  return Buffer.concat([magic, bytes(1, meta), bytes(2, body), bytes(3, ''), bytes(4, '')]);
}

/** One event of a watch: its length stands before it. */
export function writeProtobufEvent(type: string, object: JsonObject): Buffer {
  const event = Buffer.concat([bytes(1, type), bytes(2, bytes(1, writeProtobuf(object) ?? Buffer.alloc(0)))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
