import { tableOf } from '../../base/own.ts';
import { goQuote, goQuoteBytes } from '../go-quote.ts';
import { type GoUrl, textOf } from '../url.ts';
import type { Clock } from '../../base/clock.ts';
import { dialFor } from './connection.ts';
import { exchange, type HttpAnswer, RetryableError } from './exchange.ts';
import { asciiHost, headOf, type HttpGetRequest, needsHttp1, requestBytes, requestFault } from './request.ts';

/** Settings of requests. */
export interface HttpClient {
  readonly clock: Clock;
  /** Allow HTTP/2 with servers that use TLS. */
  readonly http2: boolean;
  /** Header fields added to each request. */
  readonly extra: readonly (readonly [name: string, value: string])[];
  /** Time limit of a connection attempt, ms; absent: that of the request. */
  readonly dialTimeoutMs?: number;
}

/** Maximum number of redirects, as in Go. */
export const maxRedirects = 10;
/** Status codes of redirects to `Location`. */
export const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Maximum number of bytes read from the body of a redirect before the next request. */
const maxRedirectBody = 2 * 1024;

/** Abort reason of a request that exceeded its time limit. */
export class TimeoutReached extends Error {}

/**
 * Makes a request like the kubelet's probes and hooks: certificates are not verified, and redirects are followed as long as they stay on
 * the same host. Follows Go `http.Client.Do`.
 *
 * @param signal aborts the request; with {@link TimeoutReached} as reason, the error is a timeout
 * @throws {Error} in the words of Go's HTTP client: `Get "URL": …`
 */
export async function httpGet(
  first: HttpGetRequest,
  client: HttpClient,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  let request = first;
  for (let requests = 1; ; requests++) {
    const answer = await roundTrip(request, client, signal).catch((reason: unknown) => {
      throw failed(request.url.withoutPassword, awaitingHeaders(reason), reason);
    });
    const next = redirectOf(first, request, answer);
    if (!next) return withTimeout(answer);
    if (answer.contentLength <= maxRedirectBody) await answer.read(maxRedirectBody).catch(() => undefined);
    answer.close();
    if (requests >= maxRedirects) throw failed(answer.location, `stopped after ${maxRedirects} redirects`);
    request = next;
  }
}

const failed = (url: string, why: string, cause?: unknown): Error =>
  new Error(`Get ${goQuote(textOf(url))}: ${why}`, { cause });

function awaitingHeaders(reason: unknown): string {
  if (reason instanceof TimeoutReached)
    return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  return reason instanceof Error && reason.name === 'AbortError'
    ? 'context canceled'
    : (reason as Error).message;
}

/** Words the error of a body that times out like Go. */
const withTimeout = (answer: HttpAnswer): HttpAnswer => ({
  ...answer,
  read: async (most) => {
    try {
      return await answer.read(most);
    } catch (cause) {
      if (!(cause instanceof TimeoutReached)) throw cause;
      throw new Error(
        'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
        { cause },
      );
    }
  },
});

const defaultPorts: Readonly<Record<string, number>> = tableOf({ http: 80, https: 443 });

/** Maximum number of retries of a request that an HTTP/2 server did not process: at once, then after 1 s, 2 s, 4 s… */
const maxRetries = 7;

async function roundTrip(
  request: HttpGetRequest,
  client: HttpClient,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const fault = requestFault(request);
  if (fault !== undefined) throw new Error(fault);
  for (let retry = 0; ; retry++)
    try {
      return await attempt(request, client, signal);
    } catch (reason) {
      if (!(reason instanceof RetryableError) || retry === maxRetries) throw reason;
      if (retry > 0) await client.clock.sleep(1000 * 2 ** (retry - 1), signal);
    }
}

/** Makes one request on its own connection. */
async function attempt(
  request: HttpGetRequest,
  client: HttpClient,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { url } = request;
  const at = {
    host: asciiHost(textOf(url.hostname)),
    port: Number(url.port) || (defaultPorts[url.scheme] ?? 0),
  };
  const isHttp2 = client.http2 && url.scheme === 'https' && !needsHttp1(request);
  const protocols = isHttp2 ? ['h2', 'http/1.1'] : [];
  const connection = await dialFor(url.scheme, at, { ...client, protocols, signal });
  try {
    if (connection.protocol === 'h2') {
      const { exchangeHttp2 } = await import('./http2.ts'); // loaded on demand: it takes 3 MiB
      return await exchangeHttp2(connection, request, signal);
    }
    return await exchange(connection, requestBytes(headOf(request, client.extra)), signal);
  } catch (reason) {
    connection.close();
    throw reason;
  }
}

/** Returns the request for a redirect; `undefined` when the response is final: it is no valid redirect, or leads to another host. */
function redirectOf(
  first: HttpGetRequest,
  { url, hostHeader }: HttpGetRequest,
  answer: HttpAnswer,
): HttpGetRequest | undefined {
  const { location, statusCode } = answer;
  if (!redirects.has(statusCode) || location === '') return undefined;
  let next: GoUrl;
  try {
    next = url.resolve(location);
  } catch (cause) {
    answer.close();
    const why = `failed to parse Location header ${goQuoteBytes(location)}: ${(cause as Error).message}`;
    throw failed(url.withoutPassword, why, cause);
  }
  if (next.hostname !== first.url.hostname) return undefined;
  const isRelative = !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(location);
  const referer = url.scheme === 'https' && next.scheme === 'http' ? '' : textOf(url.withoutUser);
  return {
    url: next,
    hostHeader: isRelative && hostHeader !== textOf(url.host) ? hostHeader : '',
    headers: { ...first.headers, ...(referer !== '' && { Referer: first.headers['Referer'] ?? [referer] }) },
  };
}
