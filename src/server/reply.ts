import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

/** The identity in a verified client certificate. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** A request, independent of its socket. */
export interface ServerRequest {
  readonly method: string;
  /** Path and query as sent in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The identity in the client's certificate; `unverified` when the client CA did not sign it or it is not currently valid. */
  readonly peer?: PeerCertificate | 'unverified';
  /** The address that the client connected to; absent in requests without a socket. */
  readonly localAddress?: string;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Reads the first bytes of the body, at most 64 KiB; absent: there is no body. */
  readonly body?: () => Promise<Buffer>;
}

/** Destination of a streamed body. */
export interface ReplySink {
  /** The writer waits for a returned promise, which resolves once the client has read enough. */
  write(bytes: Buffer): Promise<void> | void;
  /** Sends status and headers before the first byte. */
  flushHeaders(): void;
}

/** A body that is generated while it is sent. `otherwise` answers a failure before the first byte. */
export interface StreamedBody {
  readonly stream: (sink: ReplySink) => Promise<void>;
  readonly otherwise: (reason: unknown) => Reply;
}

/** Takes over the connection after the request's headers. */
export type Upgrade = (socket: Duplex, head: Buffer) => Promise<void> | void;

/** The reply to a request. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer | StreamedBody;
  /** Takes over the connection; status, headers and body are not sent. */
  readonly upgrade?: Upgrade;
}

const plainText = 'text/plain; charset=utf-8';

/** Returns plain text as go-restful's `WriteErrorString` sends it. */
export const text = (status: number, body: string, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'Content-Type': plainText, ...headers },
  body,
});

/** Returns plain text as Go's `http.Error` sends it: with a line end and `nosniff`. */
export const httpError = (status: number, body: string): Reply =>
  text(status, `${body}\n`, { 'X-Content-Type-Options': 'nosniff' });

export const json = (value: unknown, headers: Reply['headers'] = {}): Reply => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

/** The reply to an unknown path. */
export const pageNotFound: Reply = httpError(404, '404 page not found');
/** The reply to an unknown path below a known one. */
export const serviceNotFound: Reply = text(404, '404: Page Not Found');

export const methodNotAllowed = (allowed: readonly string[]): Reply =>
  text(405, '405: Method Not Allowed', { Allow: allowed.join(', ') });
