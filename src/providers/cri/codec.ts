import { tableOf } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';
import { type MessageName, messages } from './gen/messages.ts';
import { WireReader, type WireType, WireWriter } from '../../base/protobuf-wire.ts';

type Message = Record<string, unknown>;

/** How a scalar kind is decoded and encoded, and its zero value. */
interface Scalar {
  readonly wireType: WireType;
  readonly read: (reader: WireReader) => unknown;
  readonly write: (writer: WireWriter, value: never) => void;
}

const scalars: Readonly<Record<string, Scalar>> = tableOf({
  bool: varint(
    (reader) => reader.uint32() !== 0,
    (writer, value: boolean) => {
      writer.uint32(value ? 1 : 0);
    },
  ),
  int32: varint(
    (reader) => reader.uint32() | 0,
    (writer, value: number) => {
      writer.int64(value);
    },
  ),
  uint32: varint(
    (reader) => reader.uint32(),
    (writer, value: number) => {
      writer.uint32(value);
    },
  ),
  int64: varint(
    (reader) => reader.int64(true),
    (writer, value: number) => {
      writer.int64(value);
    },
  ),
  uint64: varint(
    (reader) => reader.int64(false),
    (writer, value: number) => {
      writer.int64(value);
    },
  ),
  double: {
    wireType: 1,
    read: (reader) => reader.double(),
    write: (writer, value: number) => {
      writer.double(value);
    },
  },
  string: {
    wireType: 2,
    read: (reader) => reader.string(),
    write: (writer, value: string) => {
      writer.string(value);
    },
  },
  bytes: {
    wireType: 2,
    read: (reader) => reader.bytes(),
    write: (writer, value: Uint8Array) => {
      writer.bytes(value);
    },
  },
});

function varint<T>(read: (reader: WireReader) => T, write: (writer: WireWriter, value: T) => void): Scalar {
  return { wireType: 0, read, write };
}

type Shape = 'scalar' | 'message' | 'map';

interface Field {
  readonly number: number;
  readonly name: string;
  readonly shape: Shape;
  readonly repeated: boolean;
  readonly wireType: WireType;
  readonly scalar: Scalar | undefined;
  /** Name of the message type, when `shape` is `message`. */
  readonly of: MessageName;
}

interface Plan {
  readonly fields: readonly Field[];
  readonly byNumber: readonly (Field | undefined)[];
}

const plans = new Map<MessageName, Plan>();

/** Returns the prepared fields of a message; computed once per message type on first use. */
function planOf(name: MessageName): Plan {
  const cached = plans.get(name);
  if (cached) return cached;
  const fields = messages[name].map(([number, field, kind]) => fieldOf(number, field, kind));
  const byNumber: (Field | undefined)[] = [];
  for (const field of fields) byNumber[field.number] = field;
  const plan = { fields, byNumber: Array.from(byNumber) };
  plans.set(name, plan);
  return plan;
}

function fieldOf(number: number, name: string, kind: string): Field {
  const repeated = kind.startsWith('[]');
  const plain = repeated ? kind.slice(2) : kind;
  const scalar = scalars[plain];
  const shape = plain === '{}' ? 'map' : scalar ? 'scalar' : 'message';
  return { number, name, shape, repeated, wireType: scalar?.wireType ?? 2, scalar, of: plain as MessageName };
}

/**
 * Decodes a protobuf message. Absent fields stay absent and stand for their zero value. Unknown fields are skipped.
 *
 * @throws {AgentError} `internal` when the bytes are not a valid message
 */
export function decode(name: MessageName, bytes: Uint8Array): object {
  return decodeFrom(name, new WireReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
}

function decodeFrom(name: MessageName, reader: WireReader): Message {
  const { byNumber } = planOf(name);
  const out: Message = {};
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    const field = byNumber[tag >>> 3];
    if (field) readField(out, field, tag & 7, reader);
    else reader.skip(tag & 7);
  }
  return out;
}

function readField(out: Message, field: Field, wireType: number, reader: WireReader): void {
  const { name, scalar, of } = field;
  if (wireType !== field.wireType) {
    if (wireType === 2 && field.repeated && scalar) readPacked(listOf(out, name), scalar, reader);
    else throw new AgentError('internal', `protobuf field ${name} has wire type ${wireType}`);
  } else if (field.shape === 'map') readEntry(out, name, reader);
  else {
    const value = scalar ? scalar.read(reader) : readMessage(of, reader);
    if (field.repeated) listOf(out, name).push(value);
    else out[name] = value;
  }
}

function listOf(out: Message, name: string): unknown[] {
  const list = (out[name] ??= []);
  return list as unknown[];
}

function readMessage(of: MessageName, reader: WireReader): Message {
  const outer = reader.enter();
  const message = decodeFrom(of, reader);
  reader.leave(outer);
  return message;
}

function readPacked(list: unknown[], scalar: Scalar, reader: WireReader): void {
  const outer = reader.enter();
  while (reader.at < reader.end) list.push(scalar.read(reader));
  reader.leave(outer);
}

/** Decodes a map entry: the key in field 1 and the value in field 2. */
function readEntry(out: Message, name: string, reader: WireReader): void {
  let key = '';
  let value = '';
  const outer = reader.enter();
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    if (tag === 10) key = reader.string();
    else if (tag === 18) value = reader.string();
    else reader.skip(tag & 7);
  }
  reader.leave(outer);
  const map = (out[name] ??= {}) as Record<string, string>;
  // A key named `__proto__` must become an own member, too.
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
}

/** Encodes a message. Zero values are omitted except in lists and maps; members that the message type does not have are ignored. */
export function encode(name: MessageName, message: object): Buffer {
  const writer = new WireWriter();
  encodeInto(name, message as Message, writer);
  return writer.finish();
}

function encodeInto(name: MessageName, message: Message, writer: WireWriter): void {
  planOf(name).fields.forEach((field) => {
    const value = message[field.name];
    if (value === undefined || value === null) return;
    if (field.shape === 'map') writeMap(writer, field, value as Readonly<Record<string, string>>);
    else if (field.repeated) writeList(writer, field, value as readonly unknown[]);
    else if (field.shape === 'message' || !isZero(value)) writeValue(writer, field, value);
  });
}

const isZero = (value: unknown): boolean =>
  value === 0 || value === '' || value === false || (value instanceof Uint8Array && value.length === 0);

function writeValue(writer: WireWriter, { number, wireType, scalar, of }: Field, value: unknown): void {
  writer.tag(number, wireType);
  if (scalar) scalar.write(writer, value as never);
  else
    writer.within(() => {
      encodeInto(of, value as Message, writer);
    });
}

/** Encodes a repeated field: numbers packed, other kinds with one tag each. */
function writeList(writer: WireWriter, field: Field, list: readonly unknown[]): void {
  const { number, scalar } = field;
  if (!scalar || field.wireType === 2) {
    for (const value of list) writeValue(writer, field, value);
  } else if (list.length > 0) {
    writer.tag(number, 2);
    writer.within(() => {
      for (const value of list) scalar.write(writer, value as never);
    });
  }
}

function writeMap(writer: WireWriter, { number }: Field, map: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(map)) {
    writer.tag(number, 2);
    writer.within(() => {
      writer.tag(1, 2);
      writer.string(key);
      writer.tag(2, 2);
      writer.string(value);
    });
  }
}
