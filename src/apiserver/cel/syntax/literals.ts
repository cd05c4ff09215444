import { Uint, type Value } from '../values/value.ts';
import type { Token } from './lexer.ts';

const mostInt = 2n ** 63n - 1n;
const leastInt = -(2n ** 63n);
const mostUint = 2n ** 64n - 1n;

/** Reports whether a number fits into 64 bits with a sign. */
export const isInt64 = (value: bigint): boolean => value >= leastInt && value <= mostInt;
/** Reports whether a number fits into 64 bits without a sign. */
export const isUint64 = (value: bigint): boolean => value >= 0n && value <= mostUint;

/** Returns the value of a literal's token; undefined if it is out of range. */
export function literalOf({ kind, text }: Token, isNegative: boolean): Value | undefined {
  switch (kind) {
    case 'int': {
      const value = isNegative ? -BigInt(text) : BigInt(text);
      return isInt64(value) ? value : undefined;
    }
    case 'uint': {
      const value = BigInt(text.slice(0, -1));
      return isUint64(value) ? new Uint(value) : undefined;
    }
    case 'double': {
      const value = Number(text) * (isNegative ? -1 : 1);
      return Number.isFinite(value) ? value : undefined;
    }
    case 'bytes':
      return Buffer.from(unquoted(text.slice(1), true), 'latin1');
    default:
      return unquoted(text, false);
  }
}

const singles: ReadonlyMap<string, string> = new Map([
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
]);

/** Returns the text of a quoted token; that of bytes as one character for each byte. */
function unquoted(text: string, isBytes: boolean): string {
  const isRaw = /^r/i.test(text);
  const quoted = isRaw ? text.slice(1) : text;
  const width = /^(?:"""|''')/.test(quoted) ? 3 : 1;
  const inner = quoted.slice(width, -width).replaceAll(/\r\n?/gu, '\n');
  const encode = (part: string): string => (isBytes ? Buffer.from(part).toString('latin1') : part);
  if (isRaw) return encode(inner);
  const parts = /\\([0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^])|[^\\]+/gu;
  return inner.replaceAll(parts, (part: string, code: string | undefined) => {
    if (code === undefined) return encode(part);
    const number = codeOf(code);
    if (number === undefined) return encode(singles.get(code) ?? code);
    const isByte = isBytes && !/^[uU]/.test(code);
    return isByte ? String.fromCharCode(number & 0xff) : encode(String.fromCodePoint(number));
  });
}

function codeOf(code: string): number | undefined {
  if (/^[0-7]{3}$/.test(code)) return Number.parseInt(code, 8);
  if (!/^[xXuU].+/.test(code)) return undefined;
  const value = Number.parseInt(code.slice(1), 16);
  return value > 0x10_ff_ff ? 0xff_fd : value;
}
