import { tableOf } from '../base/own.ts';
const nanosPer: Readonly<Record<string, bigint>> = tableOf({
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
});

/** Magnitude of the smallest 64-bit integer. */
const most = 2n ** 63n;

/**
 * Parses a Kubernetes duration: `10s`, `1m30s`, `1.5h`, `-2ms`, `0`.
 *
 * @returns nanoseconds, or the error message of Go's `time.ParseDuration`
 */
export function parseDuration(text: string): bigint | string {
  const [, sign, rest = ''] = /^([-+]?)([\s\S]*)$/.exec(text) ?? [];
  if (rest === '0') return 0n;
  if (rest === '') return invalid(text);
  let total = 0n;
  for (let left = rest; left !== '';) {
    const part = partOf(left, text);
    if (typeof part === 'string') return part;
    total += part.nanos;
    if (total > most) return invalid(text);
    left = left.slice(part.length);
  }
  if (sign === '-') return -total;
  return total < most ? total : invalid(text);
}

/** Parses the first number with its unit. */
function partOf(left: string, text: string): { readonly nanos: bigint; readonly length: number } | string {
  const [part, whole = '', fraction = '', unit = ''] = /^(\d*)(?:\.(\d*))?([^\d.]*)/.exec(left) ?? [''];
  if ((whole === '' && fraction === '') || BigInt(whole) > most) return invalid(text);
  if (unit === '') return `time: missing unit in duration ${quote(text)}`;
  const each = nanosPer[unit];
  if (each === undefined) return `time: unknown unit ${quote(unit)} in duration ${quote(text)}`;
  return { nanos: BigInt(whole) * each + behindPoint(fraction, each), length: part.length };
}

/** Computes a fraction of a unit with Go's precision: digits that do not fit an integer are dropped, and the product is a float's. */
function behindPoint(fraction: string, unit: bigint): bigint {
  let [digits, scale] = [0n, 1];
  for (const digit of fraction) {
    const longer = digits * 10n + BigInt(digit);
    if (digits > (most - 1n) / 10n || longer > most) break;
    [digits, scale] = [longer, scale * 10];
  }
  return BigInt(Math.trunc(Number(digits) * (Number(unit) / scale)));
}

/** Quotes like Go's `time`: bytes that are not printable ASCII are escaped. */
const quote = (text: string): string =>
  `"${text
    .replace(/["\\]/g, '\\$&')
    .replace(/[^ -\u007f]/gu, (character) =>
      Buffer.from(character).toString('hex').replace(/../g, '\\x$&'),
    )}"`;

const invalid = (text: string): string => `time: invalid duration ${quote(text)}`;

/** Formats a duration like Go's `Duration.String`: `1m0s`, `500ms`, `1h30m0s`, `0s`. */
export function formatDuration(nanos: bigint): string {
  if (nanos < 0n) return `-${formatDuration(-nanos)}`;
  if (nanos === 0n) return '0s';
  if (nanos < 1_000n) return `${nanos}ns`;
  if (nanos < 1_000_000n) return `${decimal(nanos, 3)}µs`;
  if (nanos < 1_000_000_000n) return `${decimal(nanos, 6)}ms`;
  const minutes = nanos / 60_000_000_000n;
  const seconds = `${decimal(nanos % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  const fraction = (value % unit).toString().padStart(digits, '0').replace(/0+$/, '');
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}

/** Converts a valid duration to milliseconds, with fractions. */
export function durationMs(text: string): number {
  const nanos = parseDuration(text);
  return typeof nanos === 'bigint' ? Number(nanos) / 1e6 : Number.NaN;
}

/** Formats milliseconds like Go: `10s`, `2m40s`, `1h0m0s`, `120ms`. */
export const goDuration = (ms: number): string => formatDuration(BigInt(Math.round(ms * 1e6)));
