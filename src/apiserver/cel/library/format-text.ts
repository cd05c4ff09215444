import { goQuote } from '../../../go/go-quote.ts';
import type { Type } from '../check/types.ts';
import { typeOf } from '../values/inspect.ts';
import { stringOf } from '../values/text.ts';
import {
  CelList,
  CelMap,
  Duration,
  EvalError,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values/value.ts';
import { compareText } from '../values/compare.ts';

const defaultPrecision = 6;

/** A clause of a format, or the text before the next one. */
type FormatPart = { readonly text: string } | { readonly verb: string; readonly precision: number };

/** Returns the parts of a format. @throws {EvalError} for a clause that is none */
function* partsOf(format: string): Generator<FormatPart> {
  for (let rest = format; rest !== '';) {
    const percent = rest.indexOf('%');
    if (percent < 0) {
      yield { text: rest };
      return;
    }
    yield { text: rest.slice(0, percent) };
    rest = rest.slice(percent + 1);
    if (rest === '') throw new EvalError('unexpected end of string');
    if (rest.startsWith('%')) {
      yield { text: '%' };
      rest = rest.slice(1);
    } else {
      const [clause, precision] = clauseOf(rest);
      yield { verb: clause.at(-1) ?? '', precision };
      rest = rest.slice(clause.length);
    }
  }
}

/** Returns the letters of a format's clauses, in order. @throws {EvalError} */
export function verbsOf(format: string): string[] {
  return Array.from(partsOf(format)).flatMap((part) => ('verb' in part ? [part.verb] : []));
}

/**
 * Fills a format's clauses (`%s %d %f %e %b %x %X %o %%`) with values.
 *
 * @throws {EvalError} for a clause that does not fit its value, or without one
 */
export function formatted(format: string, values: readonly Value[]): string {
  let next = 0;
  let text = '';
  for (const part of partsOf(format)) {
    if ('text' in part) {
      text += part.text;
      continue;
    }
    const index = next++;
    const value = values[index];
    if (value === undefined) throw new EvalError(`index ${index} out of range`);
    text += fill(part.verb, value, part.precision);
  }
  return text;
}

/** No number is formatted with more digits: a text takes memory. */
const mostPrecision = 100_000;

/** Returns a clause without its percent sign, and its precision. */
function clauseOf(rest: string): readonly [string, number] {
  const [clause, , digits] = /^(\.(\d*))?[^]/u.exec(rest) ?? [rest];
  const verb = clause.at(-1) ?? '';
  if (!'sdfebxXo'.includes(verb))
    throw new EvalError(
      `could not parse formatting clause: unrecognized formatting clause ${JSON.stringify(verb)}`,
    );
  const precision = digits === undefined ? defaultPrecision : Number(digits);
  if (precision > mostPrecision)
    throw new EvalError(`could not parse formatting clause: precision ${digits} is too large`);
  return [clause, precision];
}

function fill(verb: string, value: Value, precision: number): string {
  switch (verb) {
    case 's':
      return shown(value);
    case 'd':
      return decimal(value);
    case 'f':
      return floating(value, 'f', (number) => grouped(number, precision));
    case 'e':
      return floating(value, 'e', (number) => scientific(number, precision));
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : based(value, 2, 'b');
    case 'o':
      return based(value, 8, 'o');
    default:
      return hexadecimal(value, verb);
  }
}

/** Returns why a clause cannot show a value of a type. */
export const formatFault = (verb: string, type: Type): string =>
  `error during formatting: ${clauses.get(verb)}, was given ${type.name}`;

const clauses: ReadonlyMap<string, string> = new Map([
  ['d', 'decimal clause can only be used on integers'],
  ['f', 'fixed-point clause can only be used on doubles'],
  ['e', 'scientific clause can only be used on doubles'],
  ['b', 'only integers and bools can be formatted as binary'],
  ['o', 'octal clause can only be used on integers'],
  ...['x', 'X'].map(
    (verb) => [verb, 'only integers, byte buffers, and strings can be formatted as hex'] as const,
  ),
  [
    's',
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  ],
]);

const wrong = (verb: string, value: Value): EvalError => new EvalError(formatFault(verb, typeOf(value)));

function decimal(value: Value): string {
  const number = integerOf(value);
  if (number === undefined) throw wrong('d', value);
  return String(number);
}

const integerOf = (value: Value): bigint | undefined =>
  value instanceof Uint ? value.value : typeof value === 'bigint' ? value : undefined;

function based(value: Value, base: number, verb: string): string {
  const number = integerOf(value);
  if (number === undefined) throw wrong(verb, value);
  return number.toString(base);
}

/** So many digits of a fraction are exact; zeros follow. */
const mostDigits = 100;

/** Formats a number with commas between thousands. */
const grouped = (number: number, precision: number): string =>
  number.toFixed(Math.min(precision, mostDigits)).replace(/\B(?=(?:\d{3})+(?=\.|$))(?<!\.\d*)/g, ',') +
  '0'.repeat(Math.max(0, precision - mostDigits));

const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Formats a number as mantissa and power of ten: `1.500000×10⁰⁰`. */
function scientific(number: number, precision: number): string {
  const [mantissa = '', exponent = ''] = number.toExponential(Math.min(precision, mostDigits)).split('e');
  const zeros = '0'.repeat(Math.max(0, precision - mostDigits));
  const digits = exponent
    .replace(/^[+-]/, '')
    .padStart(2, '0')
    .replaceAll(/\d/g, (digit) => raised[Number(digit)] ?? '');
  return `${mantissa}${zeros}×10${exponent.startsWith('-') ? '⁻' : ''}${digits}`;
}

const infinities: ReadonlyMap<Value, string> = new Map<Value, string>([
  [Infinity, '∞'],
  [-Infinity, '-∞'],
  ['Infinity', '∞'],
  ['-Infinity', '-∞'],
  ['NaN', 'NaN'],
]);

function floating(value: Value, verb: string, text: (number: number) => string): string {
  const word = infinities.get(value);
  if (word !== undefined) return word;
  if (typeof value !== 'number') throw wrong(verb, value);
  return Number.isNaN(value) ? 'NaN' : text(value);
}

function hexadecimal(value: Value, verb: string): string {
  const number = integerOf(value);
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  const text =
    number === undefined && bytes instanceof Uint8Array
      ? Buffer.from(bytes).toString('hex')
      : number?.toString(16);
  if (text === undefined) throw wrong(verb, value);
  return verb === 'X' ? text.toUpperCase() : text;
}

function shown(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof CelList) return `[${Array.from(value, inner).join(', ')}]`;
  if (value instanceof CelMap) return mapText(value);
  if (isPlain(value)) return stringOf(value);
  throw wrong('s', value);
}

const isPlain = (value: Value): boolean =>
  typeof value !== 'object' ||
  [Uint, Timestamp, Duration, TypeValue, Uint8Array].some((one) => value instanceof one);

/** A value inside of a list or map. */
function inner(value: Value): string {
  if (typeof value === 'string') return goQuote(value);
  if (value instanceof Uint8Array) return `b${goQuote(shown(value))}`;
  if (value instanceof Timestamp) return `timestamp(${goQuote(shown(value))})`;
  if (value instanceof Duration) return `duration(${goQuote(shown(value))})`;
  if (typeof value !== 'number') return shown(value);
  return Number.isFinite(value) ? value.toFixed(defaultPrecision) : goQuote(shown(value));
}

function mapText(map: CelMap): string {
  const pairs = Array.from(map.keys(), (key) => [inner(key), inner(map.find(key) ?? null)] as const);
  pairs.sort(([a], [b]) => compareText(a, b));
  return `{${pairs.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}
