import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2';
import type { GrpcFailure } from './errors.ts';
import { messageText, timeoutText } from './grpc-messages.ts';

/** What a call sends before its request. */
export interface CallHead {
  readonly path: string;
  readonly timeoutMs?: number | undefined;
  /** Sent along as gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A call with one request, which has been sent. Its answers are what the stream holds. */
export class GrpcCall {
  readonly stream: ClientHttp2Stream;
  readonly #session: ClientHttp2Session;
  #status: GrpcFailure | undefined;

  /** @throws what Node.js says of a session that is over */
  constructor(session: ClientHttp2Session, { path, timeoutMs, headers }: CallHead, body: Buffer) {
    this.#session = session;
    this.stream = session.request({
      ':authority': 'localhost',
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': userAgent,
      ...(timeoutMs !== undefined && { 'grpc-timeout': timeoutText(timeoutMs) }),
      ...headers,
    });
    const note = (told: IncomingHttpHeaders): void => {
      this.#status ??= statusOf(told);
    };
    this.stream.on('response', note).on('trailers', note);
    this.stream.on('error', () => undefined); // the status tells
    this.stream.end(body);
  }

  /** Gives the call up; whatever the runtime has said already counts. */
  fail(failure: GrpcFailure): void {
    this.#status ??= failure;
    this.stream.close(constants.NGHTTP2_CANCEL);
  }

  /** How the call went, 0 for success; to be asked when it is over. */
  get status(): GrpcFailure {
    return this.#status ?? brokenStatus(this.#session, this.stream);
  }
}

const userAgent = `podtender node/${process.versions.node}`;

/** What headers or trailers tell; `undefined`: nothing, as the headers of a call that goes well. */
export function statusOf(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): GrpcFailure | undefined {
  const code = headers['grpc-status'];
  if (code !== undefined)
    return { code: Number(code), details: messageText(String(headers['grpc-message'] ?? '')) };
  const { ':status': status = 200 } = headers;
  if (status === 200) return undefined;
  const details = `unexpected HTTP status code received from server: ${status}`;
  return { code: httpCodes[status] ?? unknown, details };
}

const unknown = 2;
const internal = 13;
const unavailable = 14;

/** What HTTP's own refusals are to gRPC; all others are `Unknown`. */
const httpCodes: Readonly<Record<number, number>> = {
  400: internal,
  401: 16,
  403: 7,
  404: 12,
  429: unavailable,
  502: unavailable,
  503: unavailable,
  504: unavailable,
};

/** HTTP/2's reasons for ending a stream (refused, cancelled, too much, not secure) as gRPC reads them; all others are `Internal`. */
const resetCodes: Readonly<Record<number, number>> = { 7: unavailable, 8: 1, 11: 8, 12: 7 };

/** Why a stream ended without a status. */
function brokenStatus(
  { destroyed, closed }: ClientHttp2Session,
  { rstCode }: ClientHttp2Stream,
): GrpcFailure {
  if (destroyed || closed) return { code: unavailable, details: 'error reading from server: EOF' };
  if (rstCode === 0) return { code: internal, details: 'server closed the stream without sending trailers' };
  const details = `stream terminated by RST_STREAM with error code: ${rstCode}`;
  return { code: resetCodes[rstCode] ?? internal, details };
}
