/** Kubernetes quantities in their canonical writing (apimachinery `resource.Quantity`). */

const pattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const exact = /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/;

/** What decoding says about a text that is no quantity. */
export const quantityPatternFault =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
export const quantitySuffixFault = "unable to parse quantity's suffix";
export const quantityNumericFault = 'unable to parse numeric part of quantity';

const binary: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const decimal: Readonly<Record<string, number>> = {
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
};
const decimalSuffix: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(decimal).map(([suffix, power]) => [power, suffix]),
);
const binarySuffix: Readonly<Record<number, string>> = {
  0: '',
  ...Object.fromEntries(Object.entries(binary).map(([suffix, power]) => [power, suffix])),
};

interface Parts {
  readonly negative: boolean;
  /** In units of 10^-9, rounded up. */
  readonly nanos: bigint;
  readonly format: 'binary' | 'decimal' | 'exponent';
}

/** Why a text is no quantity; `undefined` when it is one. */
export function quantityFault(text: string): string | undefined {
  if (text === '' || !pattern.test(text)) return quantityPatternFault;
  return exact.test(text) ? undefined : quantitySuffixFault;
}

function parse(text: string): Parts | undefined {
  const match = exact.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const digits = BigInt(`${whole}${fraction}` || '0');
  let scale = 9 - fraction.length;
  let shift = 0n;
  let format: Parts['format'] = 'decimal';
  if (suffix in binary) {
    shift = BigInt(binary[suffix] ?? 0);
    format = 'binary';
  } else if (suffix in decimal) scale += decimal[suffix] ?? 0;
  else {
    scale += Number(suffix.slice(1));
    format = 'exponent';
  }
  let nanos = digits << shift;
  if (scale >= 0) nanos *= 10n ** BigInt(scale);
  else {
    const by = 10n ** BigInt(-scale);
    nanos = (nanos + by - 1n) / by;
  }
  return { negative: sign === '-', nanos, format };
}

const giga = 1_000_000_000n;

function writeBinary(units: bigint): string {
  let power = 0;
  let value = units;
  while (power < 60 && value !== 0n && value % 1024n === 0n) {
    value /= 1024n;
    power += 10;
  }
  return `${value}${binarySuffix[power] ?? ''}`;
}

function writeDecimal(nanos: bigint, exponent: boolean): string {
  let power = -9;
  let value = nanos;
  while (power < 18 && value !== 0n && value % 1000n === 0n) {
    value /= 1000n;
    power += 3;
  }
  if (value === 0n) return '0';
  if (exponent) return power === 0 ? `${value}` : `${value}e${power}`;
  return `${value}${decimalSuffix[power] ?? ''}`;
}

/** The canonical text of a quantity: the largest suffix that leaves a whole number, in the format that was written. */
export function canonicalQuantity(text: string): string {
  const parts = parse(text);
  if (!parts) return text;
  const sign = parts.negative && parts.nanos !== 0n ? '-' : '';
  if (parts.nanos === 0n) return '0';
  const whole = parts.nanos % giga === 0n;
  if (parts.format === 'binary' && whole && parts.nanos >= 1024n * giga)
    return `${sign}${writeBinary(parts.nanos / giga)}`;
  if (parts.format === 'binary' && whole) return `${sign}${parts.nanos / giga}`;
  return `${sign}${writeDecimal(parts.nanos, parts.format === 'exponent')}`;
}

/** The value in 10^-9 units. */
export function nanosOf(text: string): bigint {
  const parts = parse(text);
  if (!parts) return 0n;
  return parts.negative ? -parts.nanos : parts.nanos;
}
