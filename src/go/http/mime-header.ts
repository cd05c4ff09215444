import { goQuoteBytes } from '../go-quote.ts';
import type { BufferedReader, Reading } from './buffered-reader.ts';

/** Header fields by canonical name; one character of name and value is a byte. */
export type MimeHeader = Map<string, string[]>;

/** Of a first line that begins with a blank no more is shown, bytes. */
const longestInitialLine = 80;

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** What a server may send before the colon: a name with blanks is none, yet it is let through. */
const nameOrBlanks = /^[A-Za-z0-9!#$%&'*+.^_`|~ -]+$/;
const badValueByte = /[\0-\x08\x0a-\x1f\x7f]/;

/** `x-request-id` → `X-Request-Id`; a name that is no token stays as it is. Follows Go `textproto.CanonicalMIMEHeaderKey`. */
export const canonicalHeader = (name: string): string =>
  token.test(name) ? name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()) : name;

/** Whether a text is a field's name, as RFC 9110 has it. */
export const isToken = (name: string): boolean => token.test(name);

/**
 * The fields up to an empty line, those that go on in the next line too. Follows Go `textproto.Reader.ReadMIMEHeader`.
 *
 * @throws {Error} in Go's words
 */
export function* readMimeHeader(reader: BufferedReader): Reading<MimeHeader> {
  const header: MimeHeader = new Map();
  yield* reader.peek(1); // Go looks ahead once more, which uses up a fault
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

/** A field with the lines that continue it, which are joined by one blank. */
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

/** Without blanks and tabs around it. */
export const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

/** Whether one of a field's values, which are lists, holds a token, whatever its case. Follows Go `httpguts.HeaderValuesContainsToken`. */
export const hasToken = (values: readonly string[] | undefined, wanted: string): boolean =>
  values?.some((value) => value.split(',').some((item) => trimmed(item).toLowerCase() === wanted)) ?? false;
