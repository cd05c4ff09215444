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

/** A text in double quotes as Go's `%q` writes it: printable characters stand for themselves. */
export function goQuote(text: string): string {
  return `"${Array.from(text, escape).join('')}"`;
}

/** What Go's `unicode.IsPrint` knows: letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  // V8 takes megabytes for what is a letter in any script, so that is only asked where it must be
  (character >= ' ' && character <= '~') || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);

function escape(character: string): string {
  const known = escapes[character];
  if (known !== undefined) return known;
  if (isPrintable(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Bytes, one a character, in double quotes as Go's `%q` writes them: what is no UTF-8 is shown byte for byte. */
export function goQuoteBytes(bytes: string): string {
  if (/^[\0-\x7f]*$/.test(bytes)) return goQuote(bytes);
  return `"${utf8Parts(Buffer.from(bytes, 'latin1'))
    .map((part) => (typeof part === 'string' ? goQuote(part).slice(1, -1) : `\\x${part.toString(16)}`))
    .join('')}"`;
}

/** Bytes as a text, with U+FFFD for each byte that is no UTF-8: Go counts bytes where JavaScript's decoders count sequences. */
export const goText = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString()
    : utf8Parts(bytes)
        .map((part) => (typeof part === 'string' ? part : '\ufffd'))
        .join('');

/** Bytes as texts, and the bytes between them that are no UTF-8. */
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

/** How long a character is that begins with such a byte; 0: none does. */
function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
