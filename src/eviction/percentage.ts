import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';

/** Whether a threshold or reclaim is written as a share. */
export const isPercentage = (text: string): boolean => text.endsWith('%');

/**
 * Reads a share such as `15.5%` as a 32-bit fraction, the precision in which the kubelet counts.
 *
 * @throws {AgentError} `invalid_argument` in the words of Go's `strconv.ParseFloat`
 */
export function parsePercentage(text: string): number {
  return Math.fround(parseFloat32(text.replace(/%+$/, '')) / 100);
}

function parseFloat32(text: string): number {
  const value = special(text) ?? hexadecimal(text) ?? decimal(withoutSeparators(text), text);
  if (value === undefined) throw parseError(text, 'invalid syntax');
  const single = Math.fround(value);
  if (!Number.isFinite(single) && Number.isFinite(value)) throw parseError(text, 'value out of range');
  return single;
}

const parseError = (text: string, why: string): AgentError =>
  new AgentError('invalid_argument', `strconv.ParseFloat: parsing ${goQuote(text)}: ${why}`);

function special(text: string): number | undefined {
  if (/^nan$/i.test(text)) return Number.NaN;
  const [, sign] = /^([+-]?)inf(?:inity)?$/i.exec(text) ?? [];
  return sign === undefined ? undefined : sign === '-' ? -Infinity : Infinity;
}

/** Underscores may stand between digits. */
const withoutSeparators = (text: string): string => text.replace(/(?<=[0-9])_(?=[0-9])/g, '');

function decimal(text: string, written: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw parseError(written, 'value out of range');
  return value;
}

/** Go reads `0x1.8p3`; the exponent is a must. */
function hexadecimal(text: string): number | undefined {
  const parts = /^([+-]?)0x([0-9a-f_]*)(?:\.([0-9a-f_]*))?p([+-]?\d+)$/i.exec(text);
  if (!parts) return undefined;
  const [whole, fraction] = [parts[2] ?? '', parts[3] ?? ''].map((part) => part.replaceAll('_', ''));
  const digits = `${whole ?? ''}${fraction ?? ''}`;
  if (digits === '') return undefined;
  const magnitude = Number(BigInt(`0x${digits}`)) * 2 ** (Number(parts[4]) - 4 * (fraction ?? '').length);
  return parts[1] === '-' ? -magnitude : magnitude;
}
