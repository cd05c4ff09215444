import { type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { dialError } from './dial-error.ts';
import { messageOf } from '../base/errors.ts';
import { goQuote } from './go-quote.ts';
import { hostPortOf, joinHostPort } from '../base/host-port.ts';

/** A GET as it will be sent. */
export interface HttpGetRequest {
  readonly scheme: string;
  /** Empty when the URL names none: such a request fails. */
  readonly host: string;
  readonly port: number;
  /** Whole, as error texts show it. */
  readonly url: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** The value of the Host header, if the request sets one. */
  readonly hostHeader: string;
  /** Name and password of the URL, with a colon between. */
  readonly auth?: string;
  /** By canonical name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** Go's own limit. */
export const maxRedirects = 10;
/** Go's own limit, bytes. */
const maxHeaderBytes = 10 * 1024 * 1024;

/** A first line longer than this, bytes, counts as one that never ends: Go would read on up to its limit. */
const longestLine = 4096;
const tooMuch = `net/http: server response headers exceeded ${maxHeaderBytes} bytes; aborted`;

/** What is told of a server that answers `https` in plain text. */
const plainAnswer = 'http: server gave HTTP response to HTTPS client';

/**
 * Asks a server as the kubelet does for probes and hooks: certificates are not checked, redirects are followed as long as they stay on
 * the host, and what a lenient server leaves out of its answer is forgiven.
 *
 * @returns the answer, whose body is still to be read
 * @throws {Error} in the words of Go's HTTP client: `Get "URL": …`
 */
export async function httpGet(first: HttpGetRequest, signal: AbortSignal): Promise<IncomingMessage> {
  if (first.host === '') throw failed(first, 'http: no Host in request URL');
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const answer = await send(request, signal);
    const next = redirectOf(request, answer);
    if (!next) return answer;
    answer.destroy();
    if (redirects + 1 >= maxRedirects) throw failed(next, `stopped after ${maxRedirects} redirects`);
    request = next;
  }
}

/** Whether a request failed because a server with `https` has no TLS. */
export const spokePlainText = (reason: unknown): boolean => messageOf(reason).endsWith(plainAnswer);

const failed = ({ url }: HttpGetRequest, why: string, cause?: unknown): Error =>
  new Error(`Get ${goQuote(withoutPassword(url))}: ${why}`, { cause });

/** A URL as it may be shown, as Go's client does. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/@:]*):[^/@]*@/, '$1:***@');

function send(request: HttpGetRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { Host: _, ...headers } = request.headers;
  const host = request.hostHeader === '' ? {} : { Host: request.hostHeader };
  const options: RequestOptions & { readonly rejectUnauthorized: boolean } = {
    host: request.host,
    port: request.port,
    path: request.target,
    ...(request.auth !== undefined && { auth: request.auth }),
    headers: { ...headers, ...host, Connection: 'close' },
    agent: false,
    insecureHTTPParser: true,
    maxHeaderSize: maxHeaderBytes,
    rejectUnauthorized: false,
    signal,
  };
  const start = request.scheme === 'https' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    let own = '';
    const call = start(options, resolve);
    call.once('socket', (socket) => {
      socket.once('connect', () => {
        own = joinHostPort(socket.localAddress ?? '', socket.localPort ?? 0);
      });
    });
    call.on('error', (reason) => {
      const answered = request.scheme === 'http' && (call.socket?.bytesRead ?? 0) > 0;
      reject(failed(request, signal.aborted ? timedOut : whyNot(reason, request, { own, answered }), reason));
    });
    call.end();
  });
}

const timedOut = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

interface Course {
  /** The address that it was sent from, once there was a connection. */
  readonly own: string;
  /** Whether anything came back. */
  readonly answered: boolean;
}

function whyNot(reason: Error, request: HttpGetRequest, { own, answered }: Course): string {
  const { syscall, code = '', rawPacket } = reason as NodeJS.ErrnoException & { readonly rawPacket?: Buffer };
  if (syscall === 'connect' || syscall === 'getaddrinfo') return dialError(reason, request);
  if (code === 'ECONNRESET' && syscall === 'read')
    return `read tcp ${own}->${joinHostPort(request.host, request.port)}: read: connection reset by peer`;
  if (code === 'ECONNRESET') return answered ? 'unexpected EOF' : 'EOF';
  if (code.startsWith('HPE_') && rawPacket)
    return `net/http: HTTP/1.x transport connection broken: ${broken(code, rawPacket)}`;
  return saysNoTls(reason) ? plainAnswer : messageOf(reason);
}

function broken(code: string, answer: Buffer): string {
  const isEndless = code === 'HPE_HEADER_OVERFLOW' || (answer.length > longestLine && !answer.includes('\n'));
  return isEndless ? tooMuch : malformed(answer);
}

/** OpenSSL's words for an answer that is no TLS record. */
const saysNoTls = (reason: Error): boolean =>
  /wrong version number|packet length too long/i.test(messageOf(reason));

/** What is wrong with an answer that does not begin as HTTP does. Follows Go `http.ReadResponse`. */
function malformed(answer: Buffer): string {
  const [line = ''] = answer.toString('latin1').split(/\r?\n/, 1);
  const [, protocol = '', rest = ''] = /^([^ ]*) +(.*)$/.exec(line) ?? [];
  if (protocol === '') return `malformed HTTP response ${goQuote(line)}`;
  const [code = ''] = rest.split(' ', 1);
  if (!/^\d{3}$/.test(code)) return `malformed HTTP status code ${goQuote(code)}`;
  return /^HTTP\/\d\.\d$/.test(protocol)
    ? `malformed HTTP response ${goQuote(line)}`
    : `malformed HTTP version ${goQuote(protocol)}`;
}

/** Statuses whose `Location` is where to ask instead. */
export const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where to go next; `undefined`: the answer stands, as there is no way on, or it leads to another host. */
function redirectOf(request: HttpGetRequest, answer: IncomingMessage): HttpGetRequest | undefined {
  const { location } = answer.headers;
  if (!redirects.has(answer.statusCode ?? 0) || location === undefined || location === '') return undefined;
  if (!URL.canParse(location, request.url)) return undefined;
  const url = new URL(location, request.url);
  if (hostPortOf(url).host !== request.host.toLowerCase()) return undefined;
  const scheme = url.protocol.slice(0, -1);
  const { auth, ...rest } = request;
  const isRelative = !URL.canParse(location);
  return {
    ...rest,
    ...(isRelative && auth !== undefined && { auth }),
    scheme,
    port: Number(url.port) || (scheme === 'https' ? 443 : 80),
    url: url.href,
    target: `${url.pathname}${url.search}`,
    hostHeader: isRelative ? request.hostHeader : '',
  };
}
