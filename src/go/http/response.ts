import { goQuoteBytes } from '../go-quote.ts';
import { type Body, chunkedBody, emptyBody, limitedBody, openBody } from './body.ts';
import { type BufferedReader, eof, type Reading, unexpectedEof } from './buffered-reader.ts';
import { canonicalHeader, hasToken, type MimeHeader, readMimeHeader, trimmed } from './mime-header.ts';

/** A response with an unread body. */
export interface Response {
  readonly statusCode: number;
  readonly header: MimeHeader;
  /** Content length in bytes; -1 when unknown. */
  readonly contentLength: number;
  readonly body: Body;
}

/** Maximum total size of the headers of a response, including informational ones, bytes, as in Go. */
export const maxHeaderBytes: number = 10 * 1024 * 1024;

/**
 * Reads the response to a GET, after informational ones. Follows Go `http.ReadResponse` and the parts of `http.Transport` around it.
 *
 * @throws {Error} in Go's words
 */
export function* readAnswer(reader: BufferedReader): Reading<Response> {
  reader.limit = maxHeaderBytes;
  const first = yield* reader.peek(1);
  if (first.fault) throw first.fault; // before the first byte, the fault is reported unwrapped
  try {
    const response = yield* finalResponse(reader);
    reader.limit = Infinity;
    return response;
  } catch (reason) {
    const why =
      reader.limit <= 0
        ? `net/http: server response headers exceeded ${maxHeaderBytes} bytes; aborted`
        : (reason as Error).message;
    throw new Error(`net/http: HTTP/1.x transport connection broken: ${why}`, { cause: reason });
  }
}

function* finalResponse(reader: BufferedReader): Reading<Response> {
  for (;;) {
    const response = yield* readResponse(reader);
    const { statusCode, header } = response;
    if (statusCode === 101 && header.get('Upgrade')?.[0] && hasToken(header.get('Connection'), 'upgrade'))
      return { ...response, body: openBody(reader) };
    if (statusCode < 100 || statusCode > 199 || statusCode === 101) return response;
  }
}

function* readResponse(reader: BufferedReader): Reading<Response> {
  try {
    const { statusCode, major, minor } = statusOf(yield* reader.readLine());
    const header = yield* readMimeHeader(reader);
    return {
      statusCode,
      header,
      ...transferOf({ statusCode, header, chunksAllowed: isAtLeast11(major, minor) }, reader),
    };
  } catch (reason) {
    throw reason === eof ? unexpectedEof : reason;
  }
}

interface Status {
  readonly statusCode: number;
  readonly major: number;
  readonly minor: number;
}

/** Parses the status line. */
function statusOf(line: string): Status {
  const [, protocol, rest] = /^([^ ]*) +(.*)$/s.exec(line) ?? /^([^ ]*) *()$/s.exec(line) ?? [];
  if (protocol === undefined || !line.includes(' '))
    throw new Error(`malformed HTTP response ${goQuoteBytes(line)}`);
  const [code = ''] = (rest ?? '').split(' ', 1);
  // As in Go's number parsing, a sign counts as one of the three characters.
  if (!/^(?:[0-9]{3}|\+[0-9]{2}|-0{2})$/.test(code))
    throw new Error(`malformed HTTP status code ${goQuoteBytes(code)}`);
  const [, major, minor] = /^HTTP\/([0-9])\.([0-9])$/.exec(protocol) ?? [];
  if (major === undefined) throw new Error(`malformed HTTP version ${goQuoteBytes(protocol)}`);
  return { statusCode: Math.abs(Number(code)), major: Number(major), minor: Number(minor) };
}

/** A version of 0.0 counts as 1.1. */
const isAtLeast11 = (major: number, minor: number): boolean =>
  (major === 0 && minor === 0) || major > 1 || (major === 1 && minor >= 1);

interface Head {
  readonly statusCode: number;
  readonly header: MimeHeader;
  readonly chunksAllowed: boolean;
}

/** Determines length and encoding of the body. Follows Go `readTransfer`: strict where a message would be ambiguous. */
function transferOf(head: Head, reader: BufferedReader): Pick<Response, 'contentLength' | 'body'> {
  const { statusCode, header } = head;
  const isChunked = readsChunks(head);
  const length = lengthOf(header);
  const isEmpty = (statusCode >= 100 && statusCode < 200) || statusCode === 204 || statusCode === 304;
  if (isChunked) checkTrailer(header);
  if (isEmpty || (!isChunked && length === 0)) return { contentLength: 0, body: emptyBody };
  if (isChunked) return { contentLength: -1, body: chunkedBody(reader) };
  return length === undefined
    ? { contentLength: -1, body: openBody(reader) }
    : { contentLength: length, body: limitedBody(reader, length) };
}

function readsChunks({ header, chunksAllowed }: Head): boolean {
  const values = header.get('Transfer-Encoding');
  if (!values || !chunksAllowed) return false;
  const [value = ''] = values;
  if (values.length !== 1) throw new Error(`too many transfer encodings: ${quotedList(values)}`);
  if (value.toLowerCase() !== 'chunked')
    throw new Error(`unsupported transfer encoding: ${goQuoteBytes(value)}`);
  return true;
}

const quotedList = (values: readonly string[]): string => `[${values.map(goQuoteBytes).join(' ')}]`;

const largestLength = 2n ** 63n - 1n;

function lengthOf(header: MimeHeader): number | undefined {
  const values = header.get('Content-Length');
  if (!values) return undefined;
  const [first = ''] = values.map(trimmedSpace);
  if (values.some((value) => trimmedSpace(value) !== first))
    throw new Error(
      `http: message cannot contain multiple Content-Length headers; got ${quotedList(values)}`,
    );
  if (first === '') throw new Error('invalid empty Content-Length ""');
  if (!/^[0-9]+$/.test(first) || BigInt(first) > largestLength)
    throw new Error(`bad Content-Length ${goQuoteBytes(first)}`);
  return Number(first);
}

/** Trims blanks, tabs and line ends. */
const trimmedSpace = (text: string): string => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

const notInTrailers: ReadonlySet<string> = new Set(['Transfer-Encoding', 'Trailer', 'Content-Length']);

function checkTrailer(header: MimeHeader): void {
  for (const value of header.get('Trailer') ?? [])
    for (const item of value.split(',')) {
      const name = canonicalHeader(trimmed(item));
      if (notInTrailers.has(name)) throw new Error(`bad trailer key ${goQuoteBytes(name)}`);
    }
}
