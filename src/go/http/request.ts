import { domainToASCII } from 'node:url';
import { goQuote } from '../go-quote.ts';
import { type GoUrl, textOf } from '../url.ts';
import { isToken } from './mime-header.ts';

/** A GET as it will be sent. */
export interface HttpGetRequest {
  readonly url: GoUrl;
  /** The value of the Host header, if the request sets one. */
  readonly hostHeader: string;
  /** By canonical name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

// eslint-disable-next-line no-control-regex -- what Go refuses
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
const excluded: ReadonlySet<string> = new Set(['Host', 'User-Agent', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

/** @param extra fields that the transport adds; @throws {Error} when Go would not send such a request */
export function headOf(request: HttpGetRequest, extra: readonly (readonly [string, string])[]): RequestHead {
  const { url, headers } = request;
  const target = textOf(url.requestUri);
  // eslint-disable-next-line no-control-regex -- what Go refuses
  if (/[\0-\x1f\x7f]/.test(target)) throw new Error("net/http: can't write control character in Request.URL");
  const agent = (headers['User-Agent']?.[0] ?? 'Go-http-client/1.1').trim();
  const own = withCredentials(request);
  const names = Object.keys(own).filter((name) => !excluded.has(name));
  return {
    host: hostOf(request.hostHeader || textOf(url.host)),
    target,
    fields: [
      ...(agent === '' ? [] : [['User-Agent', agent] as const]),
      ...names.sort(byBytes).flatMap((name) => (own[name] ?? []).map((value) => [name, trimmedValue(value)] as const)),
      ...extra,
    ],
  };
}

const byBytes = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const trimmedValue = (value: string): string => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

/** Name and password of the URL go along, unless the request has credentials of its own. */
function withCredentials({ url: { user }, headers }: HttpGetRequest): HttpGetRequest['headers'] {
  if (!user || (headers['Authorization']?.[0] ?? '') !== '') return headers;
  const secret = Buffer.from(`${user.name}:${user.password ?? ''}`, 'latin1').toString('base64');
  return { ...headers, Authorization: [`Basic ${secret}`] };
}

/** The Host header: ASCII, without the zone of an address; empty when it could be read as more than one header. */
function hostOf(text: string): string {
  const host = asciiHost(text);
  if (!/^[A-Za-z0-9!$%&'()*+,\-.:;=[\]_~]*$/.test(host)) return '';
  return host.replace(/^(\[[^\]]*?)%[^\]]*\]/, '$1]');
}

/** A host, with its port, in ASCII as DNS wants it. @throws {Error} when there is no such name */
export function asciiHost(text: string): string {
  // eslint-disable-next-line no-control-regex -- all of ASCII
  if (/^[\0-\x7f]*$/.test(text)) return text;
  const [, name = '', port = ''] = /^(.*?)(:[^:]*)?$/s.exec(text) ?? [];
  const ascii = domainToASCII(name);
  if (ascii === '') throw new Error(`idna: invalid label ${goQuote(name)}`);
  return `${ascii}${port}`;
}

/** A request as HTTP/1.1 sends it: what is beyond ASCII as UTF-8. */
export const requestBytes = ({ host, target, fields }: RequestHead): Buffer =>
  Buffer.from(
    [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...fields.map(([name, value]) => `${name}: ${value}`), '', ''].join(
      '\r\n',
    ),
  );
