import { parseDuration } from '../../../kube/duration.ts';
import { isInt64, isUint64 } from '../syntax/literals.ts';
import { typeOf } from '../values/inspect.ts';
import { stringOf } from '../values/text.ts';
import { Duration, EvalError, Timestamp, Uint, type Value } from '../values/value.ts';
import { timestamp } from './operators.ts';

const perSecond = 1_000_000_000n;

const impossible = (value: Value, to: string): EvalError =>
  new EvalError(`type conversion error from '${typeOf(value).name}' to '${to}'`);

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

/** Converts by `bool(x)`. @throws {EvalError}, as all of these */
export function toBool(value: Value): Value {
  if (typeof value === 'boolean') return value;
  const found = typeof value === 'string' ? truths.get(value) : undefined;
  if (found === undefined) throw impossible(value, 'bool');
  return found;
}

export const toBytes = (value: Value): Value => (typeof value === 'string' ? Buffer.from(value) : value);
export const toText = (value: Value): Value => stringOf(value);

const float = /^[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$|^[+-]?(?:inf|infinity)$|^nan$/i;

export function toDouble(value: Value): Value {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return value;
  if (!float.test(value)) throw impossible(value, 'double');
  const word = value.toLowerCase().replace(/^\+/, '');
  if (word === 'nan') return Number.NaN;
  if (word.includes('inf')) return word.startsWith('-') ? -Infinity : Infinity;
  const number = Number(value);
  if (!Number.isFinite(number)) throw impossible(value, 'double');
  return number;
}

function whole(value: number, isFitting: (value: bigint) => boolean, why: string): bigint {
  const truncated = Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined;
  // the greatest and least doubles of the range are not exact, and refused
  if (truncated === undefined || !isFitting(truncated) || truncated === -(2n ** 63n))
    throw new EvalError(why);
  return truncated;
}

const decimal = /^[+-]?\d+$/;

export function toInt(value: Value): Value {
  if (typeof value === 'number') return whole(value, isInt64, 'integer overflow');
  if (value instanceof Duration) return value.nanos;
  if (value instanceof Timestamp) return seconds(value);
  if (value instanceof Uint) {
    if (!isInt64(value.value)) throw new EvalError('integer overflow');
    return value.value;
  }
  if (typeof value !== 'string') return value;
  const number = decimal.test(value) ? BigInt(value.replace('+', '')) : undefined;
  if (number === undefined || !isInt64(number)) throw impossible(value, 'int');
  return number;
}

const seconds = ({ nanos }: Timestamp): bigint =>
  nanos >= 0n ? nanos / perSecond : -((-nanos + perSecond - 1n) / perSecond);

export function toUint(value: Value): Value {
  if (typeof value === 'number') {
    if (value < 0) throw new EvalError('unsigned integer overflow');
    return new Uint(whole(value, isUint64, 'unsigned integer overflow'));
  }
  if (typeof value === 'bigint') {
    if (!isUint64(value)) throw new EvalError('unsigned integer overflow');
    return new Uint(value);
  }
  if (typeof value !== 'string') return value;
  const number = /^\d+$/.test(value) ? BigInt(value) : undefined;
  if (number === undefined || !isUint64(number)) throw impossible(value, 'uint');
  return new Uint(number);
}

export function toDuration(value: Value): Value {
  if (typeof value === 'bigint') throw impossible(value, 'google.protobuf.Duration');
  if (typeof value !== 'string') return value;
  const nanos = parseDuration(value);
  if (typeof nanos === 'string') throw impossible(value, 'google.protobuf.Duration');
  return new Duration(nanos);
}

const time = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** The milliseconds of a time's offset from UTC; undefined for one that is out of range. */
function offsetOf(zone: string): number | undefined {
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (Number(hours) > 24 || Number(minutes) >= 60) return undefined;
  return (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
}

/** Reads a time as Go's `time.Parse` with RFC 3339; undefined for a text that is none. */
export function parseTime(text: string): bigint | undefined {
  const [, date, fraction = '', zone = ''] = time.exec(text) ?? [];
  if (date === undefined) return undefined;
  const utc = Date.parse(`${date}Z`);
  if (Number.isNaN(utc) || new Date(utc).toISOString().slice(0, 19) !== date) return undefined;
  const offset = offsetOf(zone);
  if (offset === undefined) return undefined;
  return BigInt(utc - offset) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

export function toTimestamp(value: Value): Value {
  if (typeof value === 'bigint') return timestamp(value * perSecond);
  if (typeof value !== 'string') return value;
  const nanos = parseTime(value);
  if (nanos === undefined) throw impossible(value, 'google.protobuf.Timestamp');
  return timestamp(nanos);
}
