import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import numbers from './api-protobuf.json' with { type: 'json' };
import { type WireField, wireFields } from '../../base/protobuf-wire.ts';
import { fieldsOf, isKnownType, type Scalar, type Shape } from '../api-types.ts';
import type { Draft, JsonObject } from '../json.ts';
import { schemaType, type Union, unions } from './schema-unions.ts';

/** A body that is not a protobuf message of its type. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

interface Numbers {
  readonly [number: string]: string | Numbers;
}
const table = tableOf(numbers as Readonly<Record<string, Numbers>>);
const magic = Buffer.from('k8s\0');

const pieces = (body: Buffer): readonly WireField[] =>
  wireFields(body, (message) => new ProtobufError(message));

const find = (body: Buffer, number: number): WireField | undefined =>
  pieces(body).find((piece) => piece.number === number);

function time(body: Buffer, micro: boolean): string | undefined {
  if (body.length === 0) return undefined;
  const seconds = Number(find(body, 1)?.value ?? 0n);
  const nanos = Number(find(body, 2)?.value ?? 0n);
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  return micro ? `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${whole}Z`;
}

function intOrString(body: Buffer): unknown {
  return find(body, 1)?.value === 1n
    ? (find(body, 3)?.bytes.toString() ?? '')
    : Number(find(body, 2)?.value ?? 0n);
}

const scalars: Readonly<Record<Scalar, (piece: WireField) => unknown>> = {
  string: ({ bytes }) => bytes.toString(),
  boolean: ({ value }) => value !== 0n,
  int32: ({ value }) => Number(value),
  int64: ({ value }) => Number(value),
  double: ({ bytes }) => (bytes.length === 8 ? bytes.readDoubleLE() : 0),
  time: ({ bytes }) => time(bytes, false),
  microtime: ({ bytes }) => time(bytes, true),
  bytes: ({ bytes }) => bytes.toString('base64'),
  intstr: ({ bytes }) => intOrString(bytes),
  quantity: ({ bytes }) => find(bytes, 1)?.bytes.toString() ?? '0',
  // RawExtension and FieldsV1 carry JSON
  any: ({ bytes }) => json(find(bytes, 1)?.bytes ?? Buffer.alloc(0)),
};

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function read(piece: WireField, shape: Shape, standing: unknown): unknown {
  switch (shape.is) {
    case 'scalar':
      return scalars[shape.scalar](piece);
    case 'struct':
      return message(piece.bytes, shape.type);
    case 'list':
      return [...(Array.isArray(standing) ? (standing as unknown[]) : []), read(piece, shape.of, undefined)];
    case 'map': {
      const [key, value] = [find(piece.bytes, 1), find(piece.bytes, 2)];
      const inner = value ? mapValue(value, shape.of) : '';
      return { ...(standing as JsonObject | undefined), [key?.bytes.toString() ?? '']: inner };
    }
  }
}

/** Lists as values of a map are messages of their own. */
const mapValue = (piece: WireField, shape: Shape): unknown =>
  shape.is === 'list'
    ? pieces(piece.bytes).map((item) => read(item, shape.of, undefined))
    : read(piece, shape, undefined);

function message(body: Buffer, type: string): JsonObject {
  const out: Draft = {};
  fill(out, body, type, table[type] ?? {});
  return type === schemaType ? withoutZeros(out) : out;
}

function fill(out: Draft, body: Buffer, type: string, names: Numbers): void {
  const fields = fieldsOf(type);
  for (const piece of pieces(body)) {
    const name = ownMember(names, String(piece.number));
    if (name === undefined) continue;
    if (typeof name !== 'string') {
      // a struct that is inlined in JSON
      fill(out, piece.bytes, type, name);
      continue;
    }
    const field = fields.get(name);
    if (!field) continue;
    const union = unions[`${type}.${name}`];
    const standing = ownMember(out, name);
    const value = union ? readUnion(piece, field.shape, union, standing) : read(piece, field.shape, standing);
    if (value !== undefined) setOwn(out, name, value);
  }
}

/** Reads a field that is one of several types in JSON, or an entry of a map of such. */
function readUnion(piece: WireField, shape: Shape, union: Union, standing: unknown): unknown {
  if (shape.is !== 'map') return unionValue(piece.bytes, union);
  const [key, value] = [find(piece.bytes, 1), find(piece.bytes, 2)];
  const entry = unionValue(value?.bytes ?? Buffer.alloc(0), union);
  return { ...(standing as JsonObject | undefined), [key?.bytes.toString() ?? '']: entry };
}

/** Omits unset fields that Go writes: unlike the fields of other types, they may be in a part that no type describes. */
function withoutZeros(schema: JsonObject): JsonObject {
  const fields = fieldsOf(schemaType);
  const isUnset = ([name, value]: readonly [string, unknown]): boolean => {
    const field = fields.get(name);
    if (field?.shape.is !== 'scalar' || field.pointer) return false;
    return (
      (field.shape.scalar === 'string' && value === '') ||
      (field.shape.scalar === 'boolean' && value === false)
    );
  };
  return Object.fromEntries(Object.entries(schema).filter((entry) => !isUnset(entry)));
}

function unionValue(bytes: Buffer, union: Union): unknown {
  const [allows, rest] = [find(bytes, 1), pieces(bytes).filter((piece) => piece.number === 2)];
  const schema = (piece: WireField): JsonObject => message(piece.bytes, schemaType);
  if (union === 'schema-or-bool') return rest[0] ? schema(rest[0]) : allows?.value === 1n;
  // here the schema is the first member
  if (rest.length === 0 && allows) return schema(allows);
  return rest.map((piece) => (union === 'schema-or-array' ? schema(piece) : piece.bytes.toString()));
}

/**
 * Decodes an object in a protobuf body as Go clients send it, to the JSON of the same object.
 *
 * @param typeOf returns the name of the type for the kind in the body
 * @throws {ProtobufError}
 */
export function readProtobuf(
  body: Buffer,
  typeOf: (apiVersion: string, kind: string) => string | undefined,
): JsonObject {
  if (body.length === 0) throw new ProtobufError('empty data');
  if (!body.subarray(0, 4).equals(magic))
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  const envelope = body.subarray(4);
  const inner = (bytes: Buffer, number: number): Buffer => find(bytes, number)?.bytes ?? Buffer.alloc(0);
  const meta = inner(envelope, 1);
  const [apiVersion, kind] = [inner(meta, 1).toString(), inner(meta, 2).toString()];
  const type = typeOf(apiVersion, kind);
  const isDescribed = type !== undefined && isKnownType(type) && Object.hasOwn(table, type);
  return { apiVersion, kind, ...(isDescribed && message(inner(envelope, 2), type)) };
}
