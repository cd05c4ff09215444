import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

/** Whom a verified client certificate names. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** A request without its socket. */
export interface ServerRequest {
  readonly method: string;
  /** Path and query as they stood in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Whom the client's certificate names; `unverified` when it showed one that the client CA did not sign, or that is not in force. */
  readonly peer?: PeerCertificate | 'unverified';
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  /** The first bytes of the body, at most 64 KiB; absent: it has none. */
  readonly body?: () => Promise<Buffer>;
}

/** Where a streamed body goes. */
export interface ReplySink {
  /** A promise holds the writer back until the client has taken enough. */
  write(bytes: Buffer): Promise<void> | void;
  /** Sends status and headers now, before the first byte. */
  flushHeaders(): void;
}

/** A body that is made while it is sent. A failure before the first byte is answered by `otherwise`. */
export interface StreamedBody {
  readonly stream: (sink: ReplySink) => Promise<void>;
  readonly otherwise: (reason: unknown) => Reply;
}

/** Takes the connection over after the request's headers. */
export type Upgrade = (socket: Duplex, head: Buffer) => Promise<void> | void;

/** What is answered. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer | StreamedBody;
  /** The connection becomes something else; status, headers and body are not sent. */
  readonly upgrade?: Upgrade;
}

const plainText = 'text/plain; charset=utf-8';

/** A plain text as go-restful's `WriteErrorString` sends it. */
export const text = (status: number, body: string, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'Content-Type': plainText, ...headers },
  body,
});

/** A plain text as Go's `http.Error` sends it: with a line end, and not to be guessed at. */
export const httpError = (status: number, body: string): Reply =>
  text(status, `${body}\n`, { 'X-Content-Type-Options': 'nosniff' });

export const json = (value: unknown, headers: Reply['headers'] = {}): Reply => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

/** The path is none of ours. */
export const pageNotFound: Reply = httpError(404, '404 page not found');
/** The path is below one of ours, but is none. */
export const serviceNotFound: Reply = text(404, '404: Page Not Found');

export const methodNotAllowed = (allowed: readonly string[]): Reply =>
  text(405, '405: Method Not Allowed', { Allow: allowed.join(', ') });
