import { tableOf } from '../base/own.ts';
import { isUtf8 } from 'node:buffer';

const escapes: Readonly<Record<string, string>> = tableOf({
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
});

/** Quotes a text like Go's `%q`: printable characters are not escaped. */
export function goQuote(text: string): string {
  return `"${Array.from(text, escape).join('')}"`;
}

/** True for characters that Go's `unicode.IsPrint` accepts: letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  // ASCII is checked first, as V8 needs megabytes for Unicode property tables.
  (character >= ' ' && character <= '~') || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);

function escape(character: string): string {
  const shortEscape = escapes[character];
  if (shortEscape !== undefined) return shortEscape;
  if (isPrintable(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Quotes bytes (one per character) like Go's `%q`: bytes that are not valid UTF-8 are escaped one by one. */
export function goQuoteBytes(bytes: string): string {
  if (/^[\0-\x7f]*$/.test(bytes)) return goQuote(bytes);
  return `"${utf8Parts(Buffer.from(bytes, 'latin1'))
    .map((part) => (typeof part === 'string' ? goQuote(part).slice(1, -1) : `\\x${part.toString(16)}`))
    .join('')}"`;
}

/** Decodes UTF-8 with one U+FFFD per invalid byte, as Go does; JavaScript's decoders use one per sequence. */
export const goText = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString()
    : utf8Parts(bytes)
        .map((part) => (typeof part === 'string' ? part : '\ufffd'))
        .join('');

/** Splits bytes into valid UTF-8 texts and the invalid bytes between them. */
function utf8Parts(bytes: Buffer): (string | number)[] {
  const parts: (string | number)[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes[at] ?? 0);
    const sequence = bytes.subarray(at, at + length);
    const isWhole = length > 0 && sequence.length === length && isUtf8(sequence);
    parts.push(isWhole ? sequence.toString() : (bytes[at] ?? 0));
    at += isWhole ? length : 1;
  }
  return parts;
}

/** Returns the length of a UTF-8 sequence by its first byte; 0 when it is not a valid first byte. */
function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
