import { goQuoteBytes } from '../go-quote.ts';
import type { BufferedReader, Reading } from './buffered-reader.ts';

/** Header fields by canonical name; each character of name and value is a byte. */
export type MimeHeader = Map<string, string[]>;

/** Maximum number of bytes shown of a first line that begins with a blank. */
const longestInitialLine = 80;

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Accepted text before the colon: a name with blanks is invalid, but tolerated. */
const nameOrBlanks = /^[A-Za-z0-9!#$%&'*+.^_`|~ -]+$/;
const badValueByte = /[\0-\x08\x0a-\x1f\x7f]/;

/**
 * Canonicalizes a header name: `x-request-id` → `X-Request-Id`; invalid names stay unchanged. Follows Go
 * `textproto.CanonicalMIMEHeaderKey`.
 */
export const canonicalHeader = (name: string): string =>
  token.test(name) ? name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()) : name;

/** True for a valid field name of RFC 9110. */
export const isToken = (name: string): boolean => token.test(name);

/**
 * Reads header fields up to an empty line, including continuation lines. Follows Go `textproto.Reader.ReadMIMEHeader`.
 *
 * @throws {Error} in Go's words
 */
export function* readMimeHeader(reader: BufferedReader): Reading<MimeHeader> {
  const header: MimeHeader = new Map();
  yield* reader.peek(1); // Go peeks once more, which consumes a fault
  const { bytes } = yield* reader.peek(1);
  if (bytes[0] === 0x20 || bytes[0] === 0x09) {
    const line = yield* reader.readLine(longestInitialLine);
    throw new Error(`malformed MIME header initial line: ${goQuoteBytes(line)}`);
  }
  for (;;) {
    const line = yield* readField(reader);
    if (line === '') return header;
    add(header, line);
  }
}

/** Reads a field; its continuation lines are joined with one blank. */
function* readField(reader: BufferedReader): Reading<string> {
  const first = yield* reader.readLine();
  if (first === '') return '';
  if (!first.includes(':')) throw new Error(`malformed MIME header: missing colon: ${goQuoteBytes(first)}`);
  let line = trimmed(first);
  while ((yield* reader.skipBlanks()) > 0) {
    line += ' ';
    try {
      line += trimmed(yield* reader.readLine());
    } catch {
      return line;
    }
  }
  return line;
}

function add(header: MimeHeader, line: string): void {
  const colon = line.indexOf(':');
  const [sent, text] = [line.slice(0, colon), line.slice(colon + 1)];
  if (!nameOrBlanks.test(sent)) throw new Error(`malformed MIME header line: ${goQuoteBytes(line)}`);
  const name = canonicalHeader(sent);
  if (badValueByte.test(text))
    throw new Error(`malformed MIME header line: ${goQuoteBytes(`${name}:${text}`)}`);
  const values = header.get(name);
  const value = text.replace(/^[ \t]+/, '');
  if (values) values.push(value);
  else header.set(name, [value]);
}

/** Trims blanks and tabs. */
export const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

/**
 * True when a comma-separated list in one of a field's values contains a token, in any case. Follows Go
 * `httpguts.HeaderValuesContainsToken`.
 */
export const hasToken = (values: readonly string[] | undefined, lowerCaseToken: string): boolean =>
  values?.some((value) => value.split(',').some((item) => trimmed(item).toLowerCase() === lowerCaseToken)) ??
  false;
