import { tableOf } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';

/** Notation of a quantity: `500m`, `512Mi` or `5e2`. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/**
 * An exact amount of a resource: `unscaled × 10^exponent`. Immutable.
 *
 * Follows apimachinery `resource.Quantity`.
 */
export interface Quantity {
  readonly unscaled: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  /** True when the value does not fit 64 bits at its exponent; `asInt64` is undefined then. */
  readonly big: boolean;
  /** The text that was parsed, when it is canonical. */
  readonly text?: string;
}

/** Kubernetes' error message for an invalid quantity. */
export const quantityFormatError =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numericError = 'unable to parse numeric part of quantity';
const suffixError = "unable to parse quantity's suffix";

const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
const nano = -9;
/** Powers of ten beyond this are formatted, compared and capped, but never multiplied out. */
const widestExponent = 1000;
/** Maximum number of digits; arithmetic with more would take long. */
const mostDigits = 10_000;

const decimalSuffixes: Readonly<Record<string, number>> = tableOf({
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
});
const binarySuffixes: Readonly<Record<string, number>> = tableOf({
  Ki: 10,
  Mi: 20,
  Gi: 30,
  Ti: 40,
  Pi: 50,
  Ei: 60,
});
const decimalByExponent = new Map(Object.entries(decimalSuffixes).map(([suffix, power]) => [power, suffix]));
const binaryByExponent = new Map(Object.entries(binarySuffixes).map(([suffix, power]) => [power, suffix]));

/** The quantity 0. */
export const zeroQuantity: Quantity = { unscaled: 0n, exponent: 0, format: 'DecimalSI', big: false };

const writtenZero: Quantity = { ...zeroQuantity, text: '0' };

/** Returns a quantity of whole units. */
export const quantityOf = (value: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity =>
  scaledQuantity(value, 0, format);

/** Returns a quantity of thousandths, the unit of CPU. */
export const milliQuantity = (value: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity =>
  scaledQuantity(value, -3, format);

/** Returns the quantity `value × 10^exponent`. */
export const scaledQuantity = (
  value: number | bigint,
  exponent: number,
  format: QuantityFormat = 'DecimalSI',
): Quantity => ({ unscaled: BigInt(value), exponent, format, big: false });

/**
 * Parses a quantity like the API: exact to the nano, finer values are rounded away from zero, BinarySI is capped at 2^63-1.
 *
 * @throws {AgentError} `invalid_argument` with Kubernetes' message
 */
export function parseQuantity(text: string): Quantity {
  const result = tryParseQuantity(text);
  if (typeof result === 'string') throw new AgentError('invalid_argument', result);
  return result;
}

/** Like {@link parseQuantity}, but returns the error message instead of throwing it. */
export function tryParseQuantity(text: string): Quantity | string {
  if (text === '0') return writtenZero;
  const parts = /^([+-]?)0*([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
  if (!parts || text === '') return quantityFormatError;
  const suffix = interpretSuffix(parts[5] ?? '');
  return suffix ? readNumber(text, parts, suffix) : suffixError;
}

function readNumber(text: string, parts: RegExpExecArray, suffix: Suffix): Quantity | string {
  const [sign, digits, dot, fraction] = [1, 2, 3, 4].map((i) => parts[i] ?? '') as [
    string,
    string,
    string,
    string,
  ];
  if (digits.length + fraction.length > mostDigits) return numericError;
  const whole = digits === '' ? '0' : digits;
  const negative = sign === '-';
  const quick = quickParse({ whole, fraction, suffix, negative, text });
  if (quick) return quick;
  const number = text.slice(0, text.length - (parts[5] ?? '').length);
  if (!/[0-9]/.test(number) && (dot === '' || number.length < text.length)) return numericError;
  return exactParse(BigInt((negative ? '-' : '') + whole + fraction), fraction.length, suffix);
}

interface Suffix {
  readonly power: number;
  readonly format: QuantityFormat;
}

function interpretSuffix(text: string): Suffix | undefined {
  const decimal = decimalSuffixes[text];
  if (decimal !== undefined) return { power: decimal, format: 'DecimalSI' };
  const binary = binarySuffixes[text];
  if (binary !== undefined) return { power: binary, format: 'BinarySI' };
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(text)?.[1];
  if (exponent === undefined || exponent.length > 20) return undefined;
  const power = BigInt(exponent.replace('+', ''));
  if (power > maxInt64 || power < minInt64) return undefined;
  return { power: Number(BigInt.asIntN(32, power)), format: 'DecimalExponent' };
}

interface Parts {
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: Suffix;
  readonly negative: boolean;
  readonly text: string;
}

/** Parses quantities with few digits as 64-bit values; canonical text is kept. */
function quickParse({ whole, fraction, suffix, negative, text }: Parts): Quantity | undefined {
  const { format, power } = suffix;
  const binary = format === 'BinarySI';
  const spare = binary
    ? 14 - whole.length - Math.trunc((power * 3) / 10)
    : 18 - whole.length - fraction.length;
  const exponent = binary ? 0 : power - fraction.length;
  if (spare < 0 || exponent < nano || (binary && fraction !== '')) return undefined;
  const digits = whole + fraction;
  const magnitude = BigInt(digits) << BigInt(binary ? power : 0);
  const value = { unscaled: negative ? -magnitude : magnitude, exponent, format, big: false };
  const canonical = binary ? (BigInt(digits) & 7n) !== 0n : looksDecimal(digits, exponent);
  return canonical ? { ...value, text } : value;
}

const looksDecimal = (digits: string, exponent: number): boolean =>
  exponent % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');

function exactParse(digits: bigint, fractionDigits: number, { power, format }: Suffix): Quantity {
  const binary = format === 'BinarySI';
  const unscaled = binary ? digits << BigInt(power) : digits;
  const exponent = binary ? -fractionDigits : power - fractionDigits;
  const rounded =
    exponent < nano
      ? { unscaled: rescaleUp(unscaled, exponent, nano), exponent: nano }
      : { unscaled, exponent };
  if (!binary) return { ...rounded, format, big: true };
  const magnitude = rounded.unscaled < 0n ? -rounded.unscaled : rounded.unscaled;
  const one = 10n ** BigInt(-rounded.exponent);
  if (magnitude > maxInt64 * one)
    return { unscaled: digits < 0n ? -maxInt64 : maxInt64, exponent: 0, format, big: true };
  return { ...rounded, format: magnitude > 0n && magnitude < one ? 'DecimalSI' : format, big: true };
}

/** Converts `unscaled × 10^from` to units of `10^to`, rounded away from zero. */
function rescaleUp(unscaled: bigint, from: number, to: number): bigint {
  if (unscaled === 0n) return 0n;
  if (from >= to) return unscaled * tenTo(Math.min(from - to, widestExponent));
  if (to - from > widestExponent + unscaled.toString().length) return unscaled < 0n ? -1n : 1n;
  const divisor = tenTo(to - from);
  const quotient = unscaled / divisor;
  if (quotient * divisor === unscaled) return quotient;
  return unscaled < 0n ? quotient - 1n : quotient + 1n;
}

/** Powers that nearly all amounts need; computing them would take as long as the rest of a conversion. */
const powersOfTen = Array.from({ length: 19 }, (_, power) => 10n ** BigInt(power));
const tenTo = (power: number): bigint => powersOfTen[power] ?? 10n ** BigInt(power);
const fitsInt64 = (value: bigint): boolean => value <= maxInt64 && value >= minInt64;

/**
 * Returns the amount in units of `10^scale`, rounded up; exact however large. A negative amount with a fraction is rounded away from zero,
 * or, when it is `big`, to one above the truncated number, as in Go; texts of negative requests show it.
 */
export function scaledValue(quantity: Quantity, scale: number): bigint {
  const rounded = rescaleUp(quantity.unscaled, quantity.exponent, scale);
  const exact =
    !quantity.big ||
    quantity.unscaled >= 0n ||
    rescaleUp(rounded, scale, quantity.exponent) === quantity.unscaled;
  return exact ? rounded : rounded + 2n;
}

/** Returns the amount in whole units, rounded away from zero: bytes of memory. */
export const valueOf = (quantity: Quantity): number => Number(scaledValue(quantity, 0));

/** Returns the amount in thousandths, rounded away from zero: millicores. */
export const milliValueOf = (quantity: Quantity): number => Number(scaledValue(quantity, -3));

/** Returns the value as an integer; `undefined` when it has a fraction or does not fit 64 bits. */
export function asInt64(quantity: Quantity): bigint | undefined {
  if (quantity.big || quantity.exponent < 0) return undefined;
  const value = rescaleUp(quantity.unscaled, quantity.exponent, 0);
  return fitsInt64(value) ? value : undefined;
}

/** True when the amount is 0. */
export const isZeroQuantity = (quantity: Quantity): boolean => quantity.unscaled === 0n;

/** Returns -1, 0 or 1. */
export const signOfQuantity = ({ unscaled }: Quantity): number =>
  unscaled === 0n ? 0 : unscaled < 0n ? -1 : 1;

/** Compares by amount. Returns -1, 0 or 1. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  const [left, right] = align(a, b);
  return left === right ? 0 : left < right ? -1 : 1;
}

/** True when two quantities are equal in amount. Texts that are not quantities are compared as texts. */
export function sameAmount(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return compareQuantities(parseQuantity(a), parseQuantity(b)) === 0;
  } catch {
    return false;
  }
}

/** Returns the sum in the format of the first, or of the second when the first is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  const format = isZeroQuantity(a) ? b.format : a.format;
  const bare = { unscaled: a.unscaled, exponent: a.exponent, format, big: a.big };
  if (!a.big && !b.big) {
    if (isZeroQuantity(b)) return bare;
    if (isZeroQuantity(a)) return { unscaled: b.unscaled, exponent: b.exponent, format, big: false };
  }
  const [left, right, exponent] = align(a, b);
  const unscaled = left + right;
  const big = a.big || b.big || !fitsInt64(left) || !fitsInt64(right) || !fitsInt64(unscaled);
  return { unscaled, exponent, format, big };
}

/** Returns the difference in the format of the first, or of the second when the first is zero. */
export const subQuantities = (a: Quantity, b: Quantity): Quantity =>
  addQuantities(a, { ...b, unscaled: -b.unscaled });

/** Returns the larger quantity; the first when equal. */
export const maxQuantity = (a: Quantity, b: Quantity): Quantity => (compareQuantities(b, a) > 0 ? b : a);

function align(a: Quantity, b: Quantity): readonly [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent);
  return [rescaleUp(a.unscaled, a.exponent, exponent), rescaleUp(b.unscaled, b.exponent, exponent), exponent];
}

/** Rounds away from zero to a multiple of `10^scale`, and returns whether the value was exact. */
export function roundUpQuantity(quantity: Quantity, scale: number): readonly [Quantity, boolean] {
  if (!quantity.big && quantity.exponent >= scale) return [quantity, true];
  const { format, big } = quantity;
  const rounded: Quantity = {
    unscaled: rescaleUp(quantity.unscaled, quantity.exponent, scale),
    exponent: scale,
    format,
    big,
  };
  return [rounded, compareQuantities(rounded, quantity) === 0];
}

/** Formats a quantity in canonical form: no fraction, the largest suffix without loss. Canonical text that was parsed is kept. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  if (isZeroQuantity(quantity)) return '0';
  if (quantity.format === 'BinarySI') {
    const whole = rescaleUp(quantity.unscaled, quantity.exponent, 0);
    const exact = compareQuantities(scaledQuantity(whole, 0), quantity) === 0;
    if (exact && (whole >= 1024n || whole <= -1024n)) return binaryText(whole, quantity.big);
  }
  return decimalText(quantity);
}

function binaryText(whole: bigint, big: boolean): string {
  // -2^63 has no positive counterpart in 64 bits, so it is written in full.
  if (whole === minInt64 && !big) return `${whole}`;
  const [amount, times] = withoutFactors(whole, 1024n);
  return `${amount}${binaryByExponent.get(times * 10) ?? ''}`;
}

function decimalText(quantity: Quantity): string {
  const [amount, times] = withoutFactors(quantity.unscaled, 10n);
  const exponent = quantity.exponent + times;
  const excess = ((exponent % 3) + 3) % 3;
  const number = amount * tenTo(excess);
  const power = exponent - excess;
  if (quantity.format === 'DecimalExponent') return power === 0 ? `${number}` : `${number}e${power}`;
  return `${number}${decimalByExponent.get(power) ?? ''}`;
}

function withoutFactors(value: bigint, factor: bigint): readonly [bigint, number] {
  let [amount, times] = [value, 0];
  for (; amount !== 0n && amount % factor === 0n; times++) amount /= factor;
  return [amount, times];
}

/** Returns the canonical form of a quantity in a manifest, which may be text or a number. */
export const canonicalQuantity = (value: string | number): string =>
  formatQuantity(parseQuantity(String(value)));
