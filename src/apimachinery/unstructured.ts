import { ownMember } from '../base/own.ts';
import { isGoInteger } from '../go/go-float.ts';
import { type Scalar, fieldsOf, type Shape } from './api-types.ts';
import { DecodeError, decodeType } from './serializer/codec.ts';
import { isObject, type JsonObject } from './json.ts';

/** Result of Go's converter from a map to an object of a type. */
export interface Conversion {
  /** Why the conversion fails. */
  readonly fault?: string;
  /** `unknown field "spec.foo"`, sorted. */
  readonly unknown: readonly string[];
}

/**
 * Checks a map as Go's converter does, which accepts whole numbers as integers in any notation, and has other messages than the decoder.
 * Follows apimachinery's `DefaultUnstructuredConverter.FromUnstructuredWithValidation`.
 */
export function conversionOf(value: JsonObject, type: string): Conversion {
  const unknown: string[] = [];
  try {
    walkStruct(value, type, '', unknown);
    return { unknown: unknown.sort() };
  } catch (reason) {
    if (reason instanceof DecodeError) return { fault: reason.message, unknown: [] };
    throw reason;
  }
}

/** Returns the map with whole numbers beyond 32 bits truncated as Go's converter does for 32 bit fields. */
export const squeezed = (value: JsonObject, type: string): JsonObject =>
  squeeze(value, { is: 'struct', type, atomic: false }) as JsonObject;

function squeeze(value: unknown, shape: Shape | undefined): unknown {
  if (shape?.is === 'scalar')
    return shape.scalar === 'int32' && typeof value === 'number' ? Math.trunc(value) | 0 : value;
  if (Array.isArray(value))
    return shape?.is === 'list' ? value.map((item: unknown) => squeeze(item, shape.of)) : value;
  if (!isObject(value) || !shape || shape.is === 'list') return value;
  const fields = shape.is === 'struct' ? fieldsOf(shape.type) : undefined;
  const of = (name: string): Shape | undefined => (shape.is === 'map' ? shape.of : fields?.get(name)?.shape);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, squeeze(inner, of(name))]));
}

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'slice';
  if (isObject(value)) return 'map';
  if (typeof value === 'number') return isGoInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
};

function walk(value: unknown, shape: Shape, path: string, unknown: string[]): void {
  if (value === null || value === undefined) return;
  switch (shape.is) {
    case 'scalar':
      checkScalar(value, shape);
      return;
    case 'struct':
      if (!isObject(value)) throw new DecodeError(`cannot restore struct from: ${kindOf(value)}`);
      walkStruct(value, shape.type, path, unknown);
      return;
    case 'list':
      if (!Array.isArray(value)) throw new DecodeError(`cannot restore slice from ${kindOf(value)}`);
      value.forEach((item: unknown, i) => {
        walk(item, shape.of, `${path}[${i}]`, unknown);
      });
      return;
    case 'map':
      if (!isObject(value)) throw new DecodeError(`cannot restore map from ${kindOf(value)}`);
      for (const item of Object.values(value)) walk(item, shape.of, path, unknown);
  }
}

function walkStruct(value: JsonObject, type: string, path: string, unknown: string[]): void {
  const fields = fieldsOf(type);
  if (fields.size === 0) return;
  const below = (name: string): string => (path ? `${path}.${name}` : name);
  for (const { name, shape } of fields.values())
    if (name !== 'fieldsV1') walk(ownMember(value, name), shape, below(name), unknown);
  for (const name of Object.keys(value))
    if (!fields.has(name)) unknown.push(`unknown field "${below(name)}"`);
}

/** The Go kinds that a scalar is read from. */
const kinds: Readonly<Partial<Record<Scalar, string>>> = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
};

function checkScalar(value: unknown, { scalar, named }: Shape & { is: 'scalar' }): void {
  const expected = kinds[scalar];
  if (expected === undefined) {
    readItself(value, scalar);
    return;
  }
  const found = kindOf(value);
  const number = /^(int|float)/;
  if (found === expected || (number.test(expected) && found === 'int64')) return;
  if (expected === 'float64' && number.test(found)) return;
  const convertible =
    (found === 'int64' && expected === 'string') || (found === 'float64' && number.test(expected));
  throw new DecodeError(
    convertible ? `cannot convert ${found} to ${named ?? expected}` : `unrecognized type: ${expected}`,
  );
}

/** Types with their own decoder decode JSON without knowing their path. */
function readItself(value: unknown, scalar: Scalar): void {
  if (scalar === 'any') return;
  const [holder, field] = holders[scalar] ?? [];
  if (holder === undefined || field === undefined) return;
  try {
    decodeType({ [field]: value }, holder);
  } catch (reason) {
    if (!(reason instanceof DecodeError)) throw reason;
    if (scalar === 'bytes' && typeof value !== 'string')
      throw new DecodeError(`cannot restore slice from ${kindOf(value)}`);
    const message = reason.message.replace(/into Go struct field \S+ of type/, 'into Go value of type');
    throw new DecodeError(scalar === 'bytes' ? `error decoding from json: ${message}` : message);
  }
}

/** A type with a field of each scalar that has its own decoder. */
const holders: Readonly<Partial<Record<Scalar, readonly [type: string, field: string]>>> = {
  quantity: ['EmptyDirVolumeSource', 'sizeLimit'],
  time: ['ObjectMeta', 'creationTimestamp'],
  microtime: ['LeaseSpec', 'renewTime'],
  intstr: ['TCPSocketAction', 'port'],
  bytes: ['CertificateSigningRequestStatus', 'certificate'],
};
