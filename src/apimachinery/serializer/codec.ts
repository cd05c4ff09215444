import { ownMember, setOwn } from '../../base/own.ts';
import { formatQuantity, quantityFormatError, tryParseQuantity } from '../../kube/resources/quantity.ts';
import { fieldsOf, goName, type FieldType, type Scalar, type Shape } from '../api-types.ts';
import { canonicalResources } from '../../kube/validation/default-container.ts';
import { timeFault } from '../../go/time-fault.ts';
import { embeddedIn } from '../../kube/decode/embedded-structs.ts';
import { openObjects, schemaType, unions } from './schema-unions.ts';
import { isObject, type Draft, type JsonObject } from '../json.ts';
import { canonicalMicroTime, canonicalTime } from '../times.ts';

/** DecodeError is a decoding failure with Go's message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** A decoded object, and the faults of strict decoding. */
export interface Decoded {
  readonly object: JsonObject;
  /** `unknown field "spec.foo"`, in document order. */
  readonly strict: readonly string[];
  /** Empty lists and maps that were left out, by path. */
  readonly empties: Empties;
}

/** Empty lists and maps by path: `spec.containers[0].env`. */
export type Empties = ReadonlyMap<string, unknown>;

/** Numbers as written, by path, where JavaScript writes them differently: `30.0`. */
export type Literals = ReadonlyMap<string, string>;

const asTheyAre: Literals = new Map();

interface Reading {
  readonly strict: string[];
  readonly empties: Map<string, unknown>;
  /** The first value of a wrong type: Go continues decoding, and a type with its own decoder may still report another fault. */
  fault?: DecodeError;
}

/** The position of a value: the path for messages (`spec.containers[0]`) and Go's struct field (`Container.spec.containers`). */
interface Place {
  readonly path: string;
  readonly goPath: string;
  readonly struct: string;
  readonly literals: Literals;
}

const goKinds: Readonly<Record<string, string>> = { string: 'string', number: 'number', boolean: 'bool' };
const jsonKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : isObject(value) ? 'object' : (goKinds[typeof value] ?? 'null');

const numbers = new Set(['int32', 'int64', 'float64']);

function cannot(value: unknown, place: Place, type: string): DecodeError {
  const number = numbers.has(type) && typeof value === 'number';
  const shown = number ? ` ${place.literals.get(place.path) ?? value}` : '';
  return new DecodeError(
    `json: cannot unmarshal ${jsonKind(value)}${shown} into Go struct field ${place.struct}.${place.goPath} of type ${type}`,
  );
}

const integers: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-2147483648, 2147483647],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

function readInteger(value: unknown, scalar: 'int32' | 'int64', place: Place): number {
  const [least, most] = integers[scalar] ?? [0, 0];
  const whole = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
  if (!whole || /[.eE]/.test(place.literals.get(place.path) ?? '')) throw cannot(value, place, scalar);
  return value;
}

function readQuantity(value: unknown, { literals, path }: Place): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new DecodeError(quantityFormatError);
  const read = tryParseQuantity(literals.get(path) ?? String(value).trim());
  if (typeof read === 'string') throw new DecodeError(read);
  return formatQuantity(read);
}

function readTime(value: unknown, place: Place, micro: boolean): string {
  if (typeof value !== 'string') throw cannot(value, place, 'string');
  const text = micro ? canonicalMicroTime(value) : canonicalTime(value);
  if (text !== undefined) return text;
  throw new DecodeError(timeFault(value, micro) ?? `parsing time ${JSON.stringify(value)}: out of range`);
}

const isByte = (item: unknown): boolean =>
  item === null || (Number.isInteger(item) && (item as number) >= 0 && (item as number) < 256);

/** Decodes base64 text, or a list of numbers. */
function readBytes(value: unknown, place: Place): string {
  if (Array.isArray(value)) {
    const wrong = value.find((item) => !isByte(item)) as unknown;
    if (wrong !== undefined) throw cannot(wrong, place, 'uint8');
    return Buffer.from(value.map(Number)).toString('base64');
  }
  if (typeof value !== 'string') throw cannot(value, place, '[]uint8');
  const bad = /[^A-Za-z0-9+/=\r\n]/.exec(value);
  const clean = value.replace(/[\r\n]/g, '');
  if (bad) throw new DecodeError(`illegal base64 data at input byte ${bad.index}`);
  const padding = clean.indexOf('=');
  const at = padding < 0 ? clean.length : padding;
  if (clean.length % 4 !== 0 || /=[^=]/.test(clean))
    throw new DecodeError(
      `illegal base64 data at input byte ${clean.length % 4 !== 0 && padding < 0 ? Math.floor(clean.length / 4) * 4 : at}`,
    );
  return Buffer.from(clean, 'base64').toString('base64');
}

type ScalarReader = (value: unknown, place: Place, named?: string) => unknown;

const typed =
  (type: 'boolean' | 'number', goType: string): ScalarReader =>
  (value, place) => {
    if (typeof value !== type) throw cannot(value, place, goType);
    return value;
  };

const scalarReaders: Readonly<Record<Scalar, ScalarReader>> = {
  string(value, place, named = 'string') {
    if (typeof value !== 'string') throw cannot(value, place, named);
    return value.toWellFormed();
  },
  boolean: typed('boolean', 'bool'),
  int32: (value, place) => readInteger(value, 'int32', place),
  int64: (value, place) => readInteger(value, 'int64', place),
  double: typed('number', 'float64'),
  intstr: (value, place) => (typeof value === 'string' ? value : readInteger(value, 'int32', place)),
  quantity: readQuantity,
  time: (value, place) => readTime(value, place, false),
  microtime: (value, place) => readTime(value, place, true),
  bytes: readBytes,
  any: (value) => value,
};

const goTypes: Readonly<Record<Scalar, string>> = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  time: 'v1.Time',
  microtime: 'v1.MicroTime',
  bytes: '[]uint8',
  intstr: 'intstr.IntOrString',
  quantity: 'resource.Quantity',
  any: 'interface {}',
};

const mapNames = new Set([
  'limits',
  'requests',
  'capacity',
  'allocatable',
  'overhead',
  'podFixed',
  'default',
  'defaultRequest',
  'hard',
  'max',
  'maxLimitRequestRatio',
  'min',
  'used',
]);

function goShape(shape: Shape, name: string): string {
  switch (shape.is) {
    case 'scalar':
      return shape.named ?? goTypes[shape.scalar];
    case 'list':
      return `[]${goShape(shape.of, name)}`;
    case 'map':
      return mapNames.has(name) ? 'v1.ResourceList' : `map[string]${goShape(shape.of, name)}`;
    case 'struct':
      return `${/^V2(?=[A-Z])/.test(shape.type) ? 'v2' : 'v1'}.${goName(shape.type)}`;
  }
}

/** Types with their own decoder: their faults are reported before those found earlier. */
const ownReaders: ReadonlySet<Scalar> = new Set<Scalar>(['quantity', 'time', 'microtime', 'intstr']);

function readShape(value: unknown, shape: Shape, place: Place, reading: Reading): unknown {
  const mismatch = (): unknown => {
    reading.fault ??= cannot(value, place, goShape(shape, place.goPath.split('.').at(-1) ?? ''));
    return undefined;
  };
  switch (shape.is) {
    case 'scalar':
      return readScalar(value, shape, place, reading);
    case 'struct':
      return isObject(value) ? readStruct(value, shape.type, place, reading) : mismatch();
    case 'list':
      return Array.isArray(value)
        ? value.map((item: unknown, i) =>
            readItem(item, shape.of, { ...place, path: `${place.path}[${i}]` }, reading),
          )
        : mismatch();
    case 'map': {
      if (!isObject(value)) return mismatch();
      // the first fault of the document is reported, but keys are written in order
      const read = Object.entries(value).map(
        ([key, item]) =>
          [key, readItem(item, shape.of, { ...place, path: `${place.path}.${key}` }, reading)] as const,
      );
      const out = Object.fromEntries(read.sort(([a], [b]) => (a < b ? -1 : 1)));
      return amounts(shape) ? canonicalResources(out as Readonly<Record<string, string>>) : out;
    }
  }
}

/** Reports whether a map has quantities, which are rounded up to a thousandth. */
const amounts = ({ of }: Shape & { is: 'map' }): boolean => of.is === 'scalar' && of.scalar === 'quantity';

const readItem = (item: unknown, of: Shape, place: Place, reading: Reading): unknown =>
  item === null ? zeroOf(of) : readShape(item, of, place, reading);

function readScalar(
  value: unknown,
  { scalar, named }: Shape & { is: 'scalar' },
  place: Place,
  reading: Reading,
): unknown {
  if (ownReaders.has(scalar)) return scalarReaders[scalar](value, place);
  try {
    return scalarReaders[scalar](value, place, named);
  } catch (reason) {
    if (!(reason instanceof DecodeError)) throw reason;
    reading.fault ??= reason;
    return undefined;
  }
}

function zeroOf(shape: Shape): unknown {
  switch (shape.is) {
    case 'struct':
      return emptyStruct(shape.type);
    case 'list':
    case 'map':
      return null;
    case 'scalar':
      return scalarZero(shape.scalar);
  }
}

function scalarZero(scalar: Scalar): unknown {
  if (scalar === 'boolean') return false;
  if (scalar === 'int32' || scalar === 'int64' || scalar === 'double' || scalar === 'intstr') return 0;
  if (scalar === 'quantity') return '0';
  if (scalar === 'time' || scalar === 'microtime' || scalar === 'any' || scalar === 'bytes') return null;
  return '';
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0);

/** Reports whether a decoded field is omitted when written. */
function leftOut(field: FieldType, value: unknown): boolean {
  if (field.always || field.required) return false;
  if (value === undefined || value === null) return true;
  if (field.pointer) return false;
  if (field.shape.is === 'struct') return false;
  if (field.shape.is === 'map') return Object.keys(value).length === 0;
  if (field.shape.is === 'scalar' && (field.shape.scalar === 'any' || field.shape.scalar === 'intstr'))
    return false;
  return isEmpty(value);
}

/** Returns what Go writes for an unset field; `undefined`: nothing. */
function absent(field: FieldType): unknown {
  if (!field.always && !field.required) return undefined;
  if (field.shape.is === 'struct') return emptyStruct(field.shape.type);
  if (field.shape.is === 'scalar') return field.pointer ? null : scalarZero(field.shape.scalar);
  return field.always || field.required ? null : undefined;
}

/** Returns an object of the type as Go's zero value is written. */
export function emptyStruct(type: string): JsonObject {
  const out: Draft = {};
  for (const field of fieldsOf(type).values()) {
    const value = absent(field);
    if (value !== undefined) setOwn(out, field.name, value);
  }
  return out;
}

function readStruct(value: JsonObject, type: string, place: Place, reading: Reading): JsonObject {
  const fields = fieldsOf(type);
  if (fields.size === 0) return value;
  const out: Draft = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name);
    const path = place.path ? `${place.path}.${name}` : name;
    if (!field) reading.strict.push(`unknown field "${path}"`);
    if (!field || inner === null || inner === undefined) continue;
    const goPath = [place.goPath, embeddedIn(type, name), name].filter(Boolean).join('.');
    const at = { ...place, path, goPath, struct: goName(type) };
    const read =
      readUnion(inner, `${type}.${name}`, at, reading) ?? readShape(inner, field.shape, at, reading);
    const written = writtenOf(field, read);
    if (written !== undefined) setOwn(out, name, written);
    if (written !== read && isObjectOrList(read)) reading.empties.set(path, read);
  }
  addAbsent(out, fields.values());
  return out;
}

/**
 * Returns the value of a field that is a schema or something else, or of owned fields; undefined for any other field. Such a type has its own decoder, which knows no
 * strict faults.
 *
 * @throws {DecodeError}
 */
function readUnion(value: unknown, field: string, place: Place, reading: Reading): unknown {
  if (field === 'ManagedFieldsEntry.fieldsV1') return value;
  const open = ownMember(openObjects, field);
  if (open !== undefined) {
    if (isObject(value))
      for (const key of Object.keys(value)) reading.strict.push(`unknown field "${place.path}.${key}"`);
    else reading.fault ??= cannot(value, place, open);
    return {};
  }
  const union = ownMember(unions, field);
  if (union === undefined || union === 'schema-or-strings') return undefined;
  if (isObject(value)) return readSchema(value, place);
  if (union === 'schema-or-bool' && typeof value !== 'boolean')
    throw new DecodeError('boolean or JSON schema expected');
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    if (item === null) return {};
    if (!isObject(item)) throw cannot(item, place, `v1.${schemaType}`);
    return readSchema(item, place);
  });
}

/** @throws {DecodeError} */
function readSchema(value: JsonObject, place: Place): JsonObject {
  const reading: Reading = { strict: [], empties: new Map() };
  const schema = readStruct(value, schemaType, place, reading);
  if (reading.fault) throw reading.fault;
  return schema;
}

const isObjectOrList = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns what is written of a decoded field: undefined when it is omitted, `null` for an empty list that is always written. */
function writtenOf(field: FieldType, read: unknown): unknown {
  if (leftOut(field, read)) return undefined;
  return (field.always || field.required) && Array.isArray(read) && read.length === 0 ? null : read;
}

/** Adds the fields that Go writes even when unset. */
function addAbsent(out: Draft, fields: Iterable<FieldType>): void {
  for (const field of fields) {
    if (Object.hasOwn(out, field.name)) continue;
    const zero = absent(field);
    if (zero !== undefined) setOwn(out, field.name, zero);
  }
}

/**
 * Decodes an object of a known type as Go's decoder does: checks types, drops and reports unknown fields, omits nulls and empty optional
 * fields, and normalizes quantities and times.
 *
 * @throws {DecodeError} with Go's message
 */
export function decodeType(value: JsonObject, type: string, literals: Literals = asTheyAre): Decoded {
  const reading: Reading = { strict: [], empties: new Map() };
  const object = readStruct(value, type, { path: '', goPath: '', struct: goName(type), literals }, reading);
  if (reading.fault) throw reading.fault;
  return { object, strict: reading.strict, empties: reading.empties };
}
