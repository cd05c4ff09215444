import { joinHostPort } from '../base/dial-error.ts';
import type { HttpGetRequest } from '../base/http-get.ts';
import { resolvePort } from './container-port.ts';
import type { Container, Probe } from './types.ts';

type HttpGet = NonNullable<Probe['httpGet']>;

/** An `httpGet` action, and where it is to go. */
export interface HttpGetTarget {
  readonly httpGet: HttpGet;
  /** Where it goes when the action names no host. */
  readonly podIp: string;
  /** The container's own, which may have names. */
  readonly ports: Container['ports'];
}

/** How a prober introduces itself, and who runs hooks. */
export const userAgentOf = (purpose: 'probe' | 'lifecycle'): string => `kube-${purpose}/1.36`;

/**
 * The request of an `httpGet` action of a probe or a hook.
 *
 * Follows kubelet `probe/http.NewRequestForHTTPGetAction`.
 *
 * @param purpose `probe` or `lifecycle`, by which it introduces itself
 * @throws {Error} when the port is none
 */
export function httpGetRequest(
  { httpGet, podIp, ports }: HttpGetTarget,
  purpose: 'probe' | 'lifecycle' = 'probe',
): HttpGetRequest {
  const scheme = (httpGet.scheme ?? '').toLowerCase() || 'http';
  const host = httpGet.host === undefined || httpGet.host === '' ? podIp : httpGet.host;
  const port = resolvePort(httpGet.port, ports);
  const { path, query, fragment } = parseTarget(httpGet.path ?? '');
  const origin = `${scheme}://${joinHostPort(host, port)}`;
  const headers = headersOf(httpGet, userAgentOf(purpose));
  return {
    scheme,
    host,
    port,
    url: `${origin}${path}${query}${fragment}`,
    target: `${path === '' ? '/' : path}${query}`,
    hostHeader: headers['Host']?.[0] ?? '',
    headers,
  };
}

function headersOf(
  { httpHeaders = [] }: HttpGet,
  userAgent: string,
): Readonly<Record<string, readonly string[]>> {
  const headers: Record<string, string[]> = {};
  for (const { name, value } of httpHeaders) (headers[canonicalHeader(name)] ??= []).push(value);
  headers['User-Agent'] ??= [userAgent];
  headers['Accept'] ??= ['*/*'];
  if (headers['Accept'][0] === '') delete headers['Accept'];
  return headers;
}

/** `x-request-id` → `X-Request-Id`; a name that is no token stays as it is. Follows Go `textproto.CanonicalMIMEHeaderKey`. */
function canonicalHeader(name: string): string {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

interface Target {
  readonly path: string;
  /** With its `?`. */
  readonly query: string;
  /** With its `#`. */
  readonly fragment: string;
}

/** The path of an action read as a URL, of which only path, query and fragment count; what is no URL is taken for a path. */
function parseTarget(text: string): Target {
  const [, beforeFragment = '', fragment] = /^([^#]*)(?:#(.*))?$/s.exec(text) ?? [];
  const [, beforeQuery = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(beforeFragment) ?? [];
  const path = pathOf(beforeQuery);
  if (path === undefined || hasControl(text))
    return { path: rooted(escapePath(text)), query: '', fragment: '' };
  return {
    path: rooted(path),
    query: query === undefined ? '' : `?${query}`,
    fragment: fragment === undefined || fragment === '' ? '' : `#${escapeText(fragment, validFragment)}`,
  };
}

const hasControl = (text: string): boolean => Buffer.from(text).some((byte) => byte < 0x20 || byte === 0x7f);

/** The escaped path of a URL without query; `undefined` when Go would not read it. */
function pathOf(text: string): string | undefined {
  const [, scheme, rest = text] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined && text.startsWith(':')) return undefined;
  if (scheme === undefined && !text.startsWith('/') && /^[^/]*:/.test(text)) return undefined;
  const authority = rest.startsWith('//') && (scheme !== undefined || !rest.startsWith('///'));
  const path = authority ? rest.slice(2).replace(/^[^/]*/, '') : rest;
  return /%(?![0-9A-Fa-f]{2})/.test(path) ? undefined : escapeText(path, validPath);
}

const rooted = (path: string): string => (path === '' || path.startsWith('/') ? path : `/${path}`);

const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/;
const validFragment = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*$/;

/** Text that is a valid encoding stays as it is; else everything that has to be is escaped anew. */
const escapeText = (text: string, valid: RegExp): string =>
  valid.test(text) ? text : escapeBytes(unescape(text));

/** The bytes that a text with escapes stands for. */
const unescape = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(/(%[0-9A-Fa-f]{2})/)
      .map((part) =>
        /^%[0-9A-Fa-f]{2}$/.test(part) ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part),
      ),
  );

const escapePath = (text: string): string => escapeBytes(Buffer.from(text));

/** Bytes as Go writes them in a path. */
const escapeBytes = (bytes: Buffer): string =>
  [...bytes]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(char)
        ? char
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
