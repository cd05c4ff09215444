import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type SecureClientSessionOptions,
} from 'node:http2';
import { goQuote, goQuoteBytes } from '../go-quote.ts';
import { bytesOf } from '../url.ts';
import { unexpectedEof } from './buffered-reader.ts';
import { type Connection, settled } from './connection.ts';
import { type HttpAnswer, RetryableError } from './exchange.ts';
import { headOf, type HttpGetRequest, type RequestHead } from './request.ts';

/** Header fields that HTTP/2 does not allow, or that are sent in another way. */
const excluded: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'keep-alive',
]);

/**
 * Sends an HTTP/2 request on its own connection and waits for the response header.
 *
 * @throws {Error} in Go's words, or the signal's reason
 */
export function exchangeHttp2(
  connection: Connection,
  request: HttpGetRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const head = headOf(request, []);
  checkConnectionFields(request);
  const fields = fieldsOf(head, request);
  const options: SecureClientSessionOptions & { readonly strictSingleValueFields: boolean } = {
    createConnection: () => connection.stream,
    strictSingleValueFields: false,
  };
  const session = connect('https://server', options);
  const course = new Course(session, connection);
  const stream = session.request(fields);
  return settled<HttpAnswer>(signal, (resolve, reject) => {
    const fail = (reason?: Error): void => {
      reject(course.faultOf(stream, reason));
    };
    stream.once('response', (headers, flags) => {
      const length = Number(headers['content-length'] ?? -1);
      const isEmpty = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      resolve({
        statusCode: headers[':status'] ?? 0,
        location: headers.location ?? '',
        contentLength: isEmpty && length < 0 ? 0 : length,
        read: (most) => readBody({ stream, course, signal, length, most }),
        close: () => {
          session.destroy();
          connection.close();
        },
      });
    });
    session.on('error', fail).once('close', fail);
    stream.on('error', fail).once('close', fail);
    return (isDone) => {
      if (isDone) return;
      session.destroy();
      connection.close();
    };
  });
}

/** Rejects connection-specific fields that Go does not drop silently. */
function checkConnectionFields({ headers }: HttpGetRequest): void {
  const allowed: Readonly<Record<string, RegExp>> = {
    Upgrade: /^(?:|chunked)$/,
    'Transfer-Encoding': /^(?:|chunked)$/,
    Connection: /^(?:|close|keep-alive)$/i,
  };
  for (const [name, value] of Object.entries(allowed)) {
    const values = headers[name] ?? [];
    if (values.length > (name === 'Upgrade' ? Infinity : 1) || !value.test(values[0] ?? ''))
      throw new Error(`http2: invalid ${name} request header: [${values.map(goQuote).join(' ')}]`);
  }
}

function fieldsOf({ host, target, fields }: RequestHead, { url }: HttpGetRequest): string[] {
  if (host === '') throw new Error('http2: invalid Host header');
  if (!target.startsWith('/')) throw new Error(`http2: invalid request :path ${goQuote(target)}`);
  return [
    ...[':authority', host, ':method', 'GET', ':path', bytesOf(target), ':scheme', url.scheme],
    ...fields
      .filter(([name]) => !excluded.has(name.toLowerCase()))
      .flatMap(([name, value]) => [name.toLowerCase(), bytesOf(value)]),
  ];
}

const codeNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

const codeName = (code: number): string => codeNames[code] ?? `unknown error code 0x${code.toString(16)}`;

interface GoAway {
  readonly code: number;
  readonly last: number;
  readonly debug: string;
}

/** Events on a connection, which determine Go's message of its end. */
class Course {
  readonly #connection: Connection;
  #goAway: GoAway | undefined;
  #sessionFault: Error | undefined;
  /** True when the connection has ended. */
  isOver = false;

  constructor(session: ClientHttp2Session, connection: Connection) {
    this.#connection = connection;
    session.on('goaway', (code: number, last: number, debug?: Uint8Array) => {
      this.#goAway ??= { code, last, debug: Buffer.from(debug ?? []).toString('latin1') };
    });
    session.on('error', (reason) => {
      this.#sessionFault ??= reason;
    });
    connection.stream.once('end', () => {
      this.isOver = true;
    });
    connection.stream.once('close', () => {
      this.isOver = true;
    });
    connection.stream.on('error', (reason) => {
      this.#sessionFault ??= reason;
      this.isOver = true;
    });
  }

  faultOf(stream: ClientHttp2Stream, reason?: Error): Error {
    const { code } = (reason ?? this.#sessionFault ?? {}) as NodeJS.ErrnoException;
    if (code === 'ERR_HTTP2_ERROR') return new Error('connection error: PROTOCOL_ERROR');
    if (code === 'ERR_HTTP2_STREAM_ERROR') return streamFault(stream.rstCode);
    if (this.#goAway) return this.#goAwayFault(this.#goAway);
    if (!this.isOver && stream.closed && !this.#sessionFault) return streamFault(stream.rstCode);
    const fault = this.#connection.faultOf(this.#sessionFault);
    return fault.message === 'EOF' ? unexpectedEof : fault;
  }

  #goAwayFault({ code, last, debug }: GoAway): Error {
    if (last >= 1)
      return new Error(
        `http2: server sent GOAWAY and closed the connection; LastStreamID=${last}, ErrCode=${codeName(code)}, debug=${goQuoteBytes(debug)}`,
      );
    return code === 0
      ? new RetryableError("http2: Transport received Server's graceful shutdown GOAWAY")
      : new Error(`http2: Transport received GOAWAY from server ErrCode:${codeName(code)}`);
  }
}

function streamFault(code: number): Error {
  const words = `stream error: stream ID 1; ${codeName(code)}; received from peer`;
  const isRetryable = code === constants.NGHTTP2_REFUSED_STREAM || code === constants.NGHTTP2_PROTOCOL_ERROR;
  return isRetryable ? new RetryableError(words) : new Error(words);
}

interface BodyOf {
  readonly stream: ClientHttp2Stream;
  readonly course: Course;
  readonly signal: AbortSignal;
  /** Content length of the header; -1: none. */
  readonly length: number;
  readonly most: number;
}

function readBody({ stream, course, signal, length, most }: BodyOf): Promise<Buffer> {
  return settled<Buffer>(signal, (resolve, reject) => {
    const pieces: Buffer[] = [];
    let count = 0;
    const finish = (): void => {
      if (count < Math.min(length, most)) reject(unexpectedEof);
      else resolve(Buffer.concat(pieces).subarray(0, most));
    };
    const fail = (reason?: Error): void => {
      const isShort = stream.rstCode === constants.NGHTTP2_PROTOCOL_ERROR && count < length;
      reject(isShort ? unexpectedEof : course.faultOf(stream, reason));
    };
    const closed = (reason?: Error): void => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !reason) finish();
      else fail(reason);
    };
    if (stream.destroyed) {
      closed();
      return () => undefined;
    }
    stream.on('data', (bytes: Buffer) => {
      pieces.push(bytes);
      count += bytes.length;
      if (count >= most) finish();
    });
    // An interrupted connection emits `end`, too.
    stream.once('end', () => {
      if (!course.isOver && stream.rstCode === constants.NGHTTP2_NO_ERROR) finish();
    });
    stream.on('error', fail).once('close', () => {
      closed();
    });
    return () => {
      stream.pause();
    };
  });
}
