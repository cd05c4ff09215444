import { Lexer } from 'yaml';

/** Matches characters that YAML does not allow (`yaml_parser_update_buffer`). */
const isNoText = /[^\t\n\r -~\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const controlFault = 'control characters are not allowed';

/** Prefix of a text that represents undecodable bytes; YAML cannot begin with it. */
const faultMark = '\uffff';

/**
 * Decodes bytes like go-yaml's reader: UTF-16 with a byte order mark, otherwise UTF-8. The mark is kept, as it distinguishes YAML from
 * JSON. Bytes that cannot be decoded give a text for which {@link readerFault} returns the error.
 */
export function yamlText(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16Text(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16Text(swapped(bytes));
  return utf8Text(bytes);
}

/** Returns why a text cannot be read, in go-yaml's words; `undefined` when it can. */
export function readerFault(text: string): string | undefined {
  if (text.startsWith(faultMark)) return text.slice(faultMark.length);
  return isNoText.test(text) ? controlFault : undefined;
}

const faulty = (before: string, fault: string): string =>
  faultMark + (isNoText.test(before) ? controlFault : fault);

function swapped(bytes: Uint8Array): Uint8Array {
  const out = Uint8Array.from(bytes);
  for (let at = 0; at + 1 < out.length; at += 2) [out[at], out[at + 1]] = [out[at + 1] ?? 0, out[at] ?? 0];
  return out;
}

/** Decodes little-endian UTF-16 with its byte order mark. */
function utf16Text(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length & ~1).toString('utf16le');
  const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
  if (lone) {
    const isLow = lone[0] >= '\udc00';
    const isLast = lone.index === text.length - 1;
    const high = isLast ? 'incomplete UTF-16 surrogate pair' : 'expected low surrogate area';
    return faulty(text.slice(0, lone.index), isLow ? 'unexpected low surrogate area' : high);
  }
  return bytes.length % 2 === 0 ? text : faulty(text, 'incomplete UTF-16 character');
}

function utf8Text(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const { at, fault } = utf8Fault(bytes);
    return faulty(Buffer.from(bytes.subarray(0, at)).toString(), fault);
  }
}

/** Returns the first octets that are not UTF-8. */
function utf8Fault(bytes: Uint8Array): { readonly at: number; readonly fault: string } {
  for (let at = 0; at < bytes.length;) {
    const width = widthOf(bytes[at] ?? 0);
    if (width === 0) return { at, fault: 'invalid leading UTF-8 octet' };
    const trailing = bytes.subarray(at + 1, at + width);
    const odd = trailing.some((octet) => (octet & 0xc0) !== 0x80);
    if (trailing.length < width - 1) return { at, fault: 'incomplete UTF-8 octet sequence' };
    if (odd) return { at, fault: 'invalid trailing UTF-8 octet' };
    const value = trailing.reduce(
      (sum, octet) => (sum << 6) | (octet & 0x3f),
      leadingBits(bytes[at] ?? 0, width),
    );
    if (width !== lengthOf(value)) return { at, fault: 'invalid length of a UTF-8 sequence' };
    if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
      return { at, fault: 'invalid Unicode character' };
    at += width;
  }
  return { at: bytes.length, fault: 'incomplete UTF-8 octet sequence' };
}

function widthOf(octet: number): number {
  if (octet < 0x80) return 1;
  if ((octet & 0xe0) === 0xc0) return 2;
  if ((octet & 0xf0) === 0xe0) return 3;
  return (octet & 0xf8) === 0xf0 ? 4 : 0;
}

const leadingBits = (octet: number, width: number): number =>
  width === 1 ? octet : octet & (0xff >> (width + 1));

function lengthOf(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x800) return 2;
  return value < 0x10000 ? 3 : 4;
}

/**
 * Replaces line ends with LF, keeping the offset of each character. go-yaml also ends lines at CR, NEL, LS and PS; within quotes, the last
 * two are kept.
 */
export function withLineFeeds(text: string): string {
  const plain = text.replaceAll(/\r(?!\n)|\u0085/g, '\n');
  if (!/[\u2028\u2029]/.test(plain)) return plain;
  let out = '';
  for (const lexeme of new Lexer().lex(plain))
    if (!marks.has(lexeme)) out += /^["']/.test(lexeme) ? lexeme : lexeme.replaceAll(/[\u2028\u2029]/g, '\n');
  return out;
}

/** Control tokens of the lexer: document start, end of an unterminated flow collection, scalar start. */
const marks: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);
