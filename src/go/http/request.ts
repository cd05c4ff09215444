import { domainToASCII } from 'node:url';
import { goQuote } from '../go-quote.ts';
import { type GoUrl, textOf } from '../url.ts';
import { hasToken, isToken } from './mime-header.ts';
import { isAscii, punycodeHost } from './punycode.ts';

/** A GET request. */
export interface HttpGetRequest {
  readonly url: GoUrl;
  /** Value of the Host header; empty: from the URL. */
  readonly hostHeader: string;
  /** Header fields by canonical name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

const badValue = /[\0-\x08\x0a-\x1f\x7f]/;

/**
 * Returns why Go's transport refuses a request; `undefined` when it does not. Values are not shown, as they may be secret.
 *
 * @param scheme schemes other than HTTP's are rejected
 */
export function requestFault({ url, headers }: HttpGetRequest): string | undefined {
  const isHttp = url.scheme === 'http' || url.scheme === 'https';
  if (!isHttp) return `unsupported protocol scheme ${goQuote(url.scheme)}`;
  for (const [name, values] of Object.entries(headers)) {
    if (!isToken(name)) return `net/http: invalid header field name ${goQuote(name)}`;
    if (values.some((value) => badValue.test(value)))
      return `net/http: invalid header field value for ${goQuote(name)}`;
  }
  return url.host === '' ? 'http: no Host in request URL' : undefined;
}

/** Header of a request, independent of the HTTP version. Text, not bytes. */
export interface RequestHead {
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  /** Fields in the order in which they are sent, without the host. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Fields that are sent elsewhere, or not at all. */
const excluded: ReadonlySet<string> = new Set([
  'Host',
  'User-Agent',
  'Content-Length',
  'Transfer-Encoding',
  'Trailer',
]);

/** Returns the header of a request. @param extra fields that the transport adds; @throws {Error} when Go would refuse the request */
export function headOf(request: HttpGetRequest, extra: readonly (readonly [string, string])[]): RequestHead {
  const { url, headers } = request;
  const target = textOf(url.requestUri);
  if (/[\0-\x1f\x7f]/.test(target)) throw new Error("net/http: can't write control character in Request.URL");
  const agent = (headers['User-Agent']?.[0] ?? 'Go-http-client/1.1').trim();
  const own = withCredentials(request);
  const names = Object.keys(own).filter((name) => !excluded.has(name));
  return {
    host: hostOf(request.hostHeader || textOf(url.host)),
    target,
    fields: [
      ...(agent === '' ? [] : [['User-Agent', agent] as const]),
      ...names.sort(byBytes).flatMap((name) => (own[name] ?? []).map((value) => [name, value] as const)),
      ...extra.filter(([name]) => isAdded(name, headers)),
    ],
  };
}

/** True when the transport adds a field, as the request does not set it. */
function isAdded(name: string, headers: HttpGetRequest['headers']): boolean {
  if (name === 'Accept-Encoding') return ['Accept-Encoding', 'Range'].every((other) => !headers[other]?.[0]);
  return name !== 'Connection' || (!hasToken(headers['Connection'], 'close') && !asksForUpgrade(headers));
}

const asksForUpgrade = (headers: HttpGetRequest['headers']): boolean =>
  Boolean(headers['Upgrade']?.[0]) && hasToken(headers['Connection'], 'upgrade');

/** True when a request requires HTTP/1.1, as it asks for a WebSocket. */
export const needsHttp1 = ({ headers }: HttpGetRequest): boolean =>
  asksForUpgrade(headers) && headers['Upgrade']?.[0]?.toLowerCase() === 'websocket';

const byBytes = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const trimmedValue = (value: string): string => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

/** Adds the URL's user information as credentials, unless the request has its own. */
function withCredentials({ url: { user }, headers }: HttpGetRequest): HttpGetRequest['headers'] {
  if (!user || (headers['Authorization']?.[0] ?? '') !== '') return headers;
  const secret = Buffer.from(`${user.name}:${user.password ?? ''}`, 'latin1').toString('base64');
  return { ...headers, Authorization: [`Basic ${secret}`] };
}

/** Returns the Host header in ASCII; empty when it could be parsed as several headers. */
function hostOf(text: string): string {
  const [, name = '', port = ''] = /^(.*?)((?::[^:]*)?)$/s.exec(text) ?? [];
  const host = punycodeHost(name) + port;
  return /^[A-Za-z0-9!$%&'()*+,\-.:;=[\]_~]*$/.test(host) ? host : '';
}

/** Returns a host name in the ASCII form of DNS, for connecting. @throws {Error} when it is invalid */
export function asciiHost(name: string): string {
  if (isAscii(name)) return name;
  const ascii = domainToASCII(name);
  if (ascii === '') throw new Error(`idna: invalid label ${goQuote(name)}`);
  return ascii;
}

/** Returns the bytes of an HTTP/1.1 request: UTF-8, and an address without its zone. */
export const requestBytes = ({ host, target, fields }: RequestHead): Buffer =>
  Buffer.from(
    [
      `GET ${target} HTTP/1.1`,
      `Host: ${host.replace(/^(\[[^\]]*?)%[^\]]*\]/, '$1]')}`,
      ...fields.map(([name, value]) => `${name}: ${trimmedValue(value)}`),
      '',
      '',
    ].join('\r\n'),
  );
