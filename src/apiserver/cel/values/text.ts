import { goFloat } from '../../../go/go-float.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { typeText } from '../check/types.ts';
import {
  CelList,
  CelMap,
  Duration,
  EvalError,
  Opaque,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';
import { typeOf } from './inspect.ts';

const perSecond = 1_000_000_000n;

/** Formats a double like Go's `%g` with the digits that it needs. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return Object.is(value, -0) ? '-0' : goFloat(value);
}

/** Formats a double without an exponent. */
export function plainText(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  const [mantissa = '', exponent = '0'] = text.split('e');
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(mantissa) ?? [];
  const power = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + power;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, '0');
}

/** Returns a time as RFC 3339 with the digits of its fraction that it needs, in UTC. */
export function timestampText({ nanos }: Timestamp): string {
  const rest = ((nanos % perSecond) + perSecond) % perSecond;
  const text = new Date(Number((nanos - rest) / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = rest.toString().padStart(9, '0').replace(/0+$/, '');
  return `${text}${fraction === '' ? '' : `.${fraction}`}Z`;
}

/** Returns a duration in seconds: `1.5s`. */
export const durationText = ({ nanos }: Duration): string => {
  const whole = nanos / perSecond;
  return `${plainText(Number(whole) + Number(nanos % perSecond) / 1e9)}s`;
};

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Converts a value to a text as `string(x)` does. @throws {EvalError} */
export function stringOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return doubleText(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof Uint8Array) {
    try {
      return decoder.decode(value);
    } catch {
      throw new EvalError('invalid UTF-8 in bytes, cannot convert to string');
    }
  }
  throw new EvalError(`type conversion error from '${typeOf(value).name}' to 'string'`);
}

/** Formats a value for a message, as cel-go's values print themselves. */
export function textOf(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof CelList) return `[${Array.from(value, inner).join(', ')}]`;
  if (value instanceof CelMap)
    return `{${Array.from(value.keys(), (key) => `${inner(key)}: ${inner(value.find(key) ?? null)}`).join(', ')}}`;
  if (value instanceof Timestamp) return `timestamp("${timestampText(value)}")`;
  if (value instanceof Duration) return `duration("${durationText(value)}")`;
  return otherText(value);
}

function otherText(value: Exclude<Value, CelList | CelMap | Timestamp | Duration | null>): string {
  if (value instanceof Optional)
    return value.value === undefined ? 'optional.none()' : `optional(${textOf(value.value)})`;
  if (value instanceof TypeValue) return typeText(value.type);
  if (value instanceof Opaque || value instanceof Struct) return typeText(value.type);
  return value instanceof Uint8Array ? Buffer.from(value).toString() : stringOf(value);
}

const inner = (value: Value): string => (typeof value === 'string' ? goQuote(value) : textOf(value));
