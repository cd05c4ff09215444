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

/** How much there is to the negative side. */
const most = 2n ** 63n;

/**
 * Reads a span as Kubernetes writes it: `10s`, `1m30s`, `1.5h`, `-2ms`, `0`.
 *
 * @returns nanoseconds, or the text of the fault as Go's `time.ParseDuration` words it
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

/** The first number with its unit. */
function partOf(left: string, text: string): { readonly nanos: bigint; readonly length: number } | string {
  const [part, whole = '', fraction = '', unit = ''] = /^(\d*)(?:\.(\d*))?([^\d.]*)/.exec(left) ?? [''];
  if ((whole === '' && fraction === '') || BigInt(whole) > most) return invalid(text);
  if (unit === '') return `time: missing unit in duration ${quote(text)}`;
  const each = nanosPer[unit];
  if (each === undefined) return `time: unknown unit ${quote(unit)} in duration ${quote(text)}`;
  return { nanos: BigInt(whole) * each + behindPoint(fraction, each), length: part.length };
}

/** A part of a unit, with the precision of Go: digits that do not fit an integer are dropped, and the product is a float's. */
function behindPoint(fraction: string, unit: bigint): bigint {
  let [digits, scale] = [0n, 1];
  for (const digit of fraction) {
    const longer = digits * 10n + BigInt(digit);
    if (digits > (most - 1n) / 10n || longer > most) break;
    [digits, scale] = [longer, scale * 10];
  }
  return BigInt(Math.trunc(Number(digits) * (Number(unit) / scale)));
}

/** As Go's `time` quotes: what is not printable ASCII is shown by its bytes. */
const quote = (text: string): string =>
  `"${text
    .replace(/["\\]/g, '\\$&')
    .replace(/[^ -\u007f]/gu, (character) =>
      Buffer.from(character).toString('hex').replace(/../g, '\\x$&'),
    )}"`;

const invalid = (text: string): string => `time: invalid duration ${quote(text)}`;

/** A span as Go's `Duration.String` writes it: `1m0s`, `500ms`, `1h30m0s`, `0s`. */
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

/** A valid span in milliseconds; parts of a nanosecond do not exist, parts of a millisecond stay. */
export function durationMs(text: string): number {
  const nanos = parseDuration(text);
  return typeof nanos === 'bigint' ? Number(nanos) / 1e6 : Number.NaN;
}

/** A span in ms as Go prints it: `10s`, `2m40s`, `1h0m0s`, `120ms`. */
export const goDuration = (ms: number): string => formatDuration(BigInt(Math.round(ms * 1e6)));
