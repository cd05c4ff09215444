import { domainToASCII } from 'node:url';
import { goQuote } from '../go-quote.ts';
import { type GoUrl, textOf } from '../url.ts';
import { hasToken, isToken } from './mime-header.ts';
import { isAscii, punycodeHost } from './punycode.ts';

/** A GET as it will be sent. */
export interface HttpGetRequest {
  readonly url: GoUrl;
  /** The value of the Host header, if the request sets one. */
  readonly hostHeader: string;
  /** By canonical name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

const badValue = /[\0-\x08\x0a-\x1f\x7f]/;

/**
 * What Go's transport refuses to send; `undefined`: nothing. The value is not shown, as it may be a secret.
 *
 * @param scheme other schemes than HTTP's are refused for themselves
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

/** What goes into the head of a request, whatever the version of HTTP. Text, not bytes. */
export interface RequestHead {
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  /** In the order in which they are sent, without the host. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Fields that are sent in a place of their own, or not at all. */
const excluded: ReadonlySet<string> = new Set([
  'Host',
  'User-Agent',
  'Content-Length',
  'Transfer-Encoding',
  'Trailer',
]);

/** @param extra fields that the transport adds; @throws {Error} when Go would not send such a request */
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

/** Whether the transport adds such a field: not where the request itself speaks of it. */
function isAdded(name: string, headers: HttpGetRequest['headers']): boolean {
  if (name === 'Accept-Encoding') return ['Accept-Encoding', 'Range'].every((other) => !headers[other]?.[0]);
  return name !== 'Connection' || (!hasToken(headers['Connection'], 'close') && !asksForUpgrade(headers));
}

const asksForUpgrade = (headers: HttpGetRequest['headers']): boolean =>
  Boolean(headers['Upgrade']?.[0]) && hasToken(headers['Connection'], 'upgrade');

/** Whether a request can be made over HTTP/1.1 only: it asks for a WebSocket. */
export const needsHttp1 = ({ headers }: HttpGetRequest): boolean =>
  asksForUpgrade(headers) && headers['Upgrade']?.[0]?.toLowerCase() === 'websocket';

const byBytes = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const trimmedValue = (value: string): string => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

/** Name and password of the URL go along, unless the request has credentials of its own. */
function withCredentials({ url: { user }, headers }: HttpGetRequest): HttpGetRequest['headers'] {
  if (!user || (headers['Authorization']?.[0] ?? '') !== '') return headers;
  const secret = Buffer.from(`${user.name}:${user.password ?? ''}`, 'latin1').toString('base64');
  return { ...headers, Authorization: [`Basic ${secret}`] };
}

/** The Host header in ASCII; empty when it could be read as more than one header. */
function hostOf(text: string): string {
  const [, name = '', port = ''] = /^(.*?)((?::[^:]*)?)$/s.exec(text) ?? [];
  const host = punycodeHost(name) + port;
  return /^[A-Za-z0-9!$%&'()*+,\-.:;=[\]_~]*$/.test(host) ? host : '';
}

/** A name as DNS wants it, to connect to. @throws {Error} when there is no such name */
export function asciiHost(name: string): string {
  if (isAscii(name)) return name;
  const ascii = domainToASCII(name);
  if (ascii === '') throw new Error(`idna: invalid label ${goQuote(name)}`);
  return ascii;
}

/** A request as HTTP/1.1 sends it: what is beyond ASCII as UTF-8, an address without its zone. */
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
