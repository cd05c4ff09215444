import { joinHostPort } from '../base/dial-error.ts';
import { AgentError } from '../base/errors.ts';
import { goQuote } from '../base/go-quote.ts';
import type { HttpGetRequest } from '../base/http-get.ts';
import { resolvePort } from './container-port.ts';
import type { Container, Probe } from './types.ts';
import { escapeBytes, unescapedBytes } from './percent-encoding.ts';
import { escapeHost, hostFault } from './url-host.ts';

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
 * @throws {Error} when the port is none, or Go would not read the host in a URL
 */
export function httpGetRequest(
  { httpGet, podIp, ports }: HttpGetTarget,
  purpose: 'probe' | 'lifecycle' = 'probe',
): HttpGetRequest {
  const scheme = (httpGet.scheme ?? '').toLowerCase() || 'http';
  const host = httpGet.host === undefined || httpGet.host === '' ? podIp : httpGet.host;
  const port = resolvePort(httpGet.port, ports);
  const target = parseTarget(httpGet.path ?? '');
  const { opaque, path, query, fragment } = target;
  const address = addressOf(scheme, joinHostPort(host, port), target);
  const headers = headersOf(httpGet, userAgentOf(purpose));
  return {
    scheme,
    host: opaque === undefined ? host : '',
    port,
    url: `${address}${fragment}`,
    target: `${path === '' ? '/' : path}${query}`,
    hostHeader: headers['Host']?.[0] ?? '',
    headers,
  };
}

/** All of the URL but its fragment. */
function addressOf(scheme: string, hostPort: string, { opaque, path, query }: Target): string {
  if (opaque !== undefined) return `${scheme}:${opaque}${query}`;
  const host = escapeHost(hostPort);
  const address = `${scheme}://${host}${path}${query}`;
  const fault = hostFault(host);
  if (fault !== undefined) throw new AgentError('invalid_argument', `parse ${goQuote(address)}: ${fault}`);
  return address;
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
  /** What stands behind a scheme without a slash: such a URL names no host. */
  readonly opaque?: string;
  readonly path: string;
  /** With its `?`. */
  readonly query: string;
  /** With its `#`. */
  readonly fragment: string;
}

/**
 * The path of an action read as a URL, of which only path, query and fragment count; what is no URL is taken for a path. Follows Go
 * `net/url.Parse`.
 */
function parseTarget(text: string): Target {
  const [, beforeFragment = '', fragment = ''] = /^([^#]*)(?:#(.*))?$/s.exec(text) ?? [];
  const [, beforeQuery = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(beforeFragment) ?? [];
  const place = placeOf(beforeQuery);
  if (!place || hasControl(beforeFragment) || brokenEscape.test(fragment))
    return { path: rooted(escapeBytes(Buffer.from(text), plainInPath)), query: '', fragment: '' };
  return {
    ...place,
    query: query === undefined ? '' : `?${query}`,
    fragment: fragment === '' ? '' : `#${escapeText(fragment, validFragment, plainInFragment)}`,
  };
}

const brokenEscape = /%(?![0-9A-Fa-f]{2})/;

const hasControl = (text: string): boolean => Buffer.from(text).some((byte) => byte < 0x20 || byte === 0x7f);

/** A URL without query; `undefined` when Go would not read it. */
function placeOf(text: string): Pick<Target, 'opaque' | 'path'> | undefined {
  const [, scheme, rest = text] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined && /^[^/]*:/.test(text)) return undefined;
  if (scheme !== undefined && /^[^/]/.test(rest)) return { opaque: rest, path: '' };
  const path = withoutAuthority(rest, scheme !== undefined);
  if (path === undefined || brokenEscape.test(path)) return undefined;
  return { path: rooted(escapeText(path, validPath, plainInPath)) };
}

function withoutAuthority(rest: string, behindScheme: boolean): string | undefined {
  if (!rest.startsWith('//') || (!behindScheme && rest.startsWith('///'))) return rest;
  const [, authority = '', path = ''] = /^\/\/([^/]*)(.*)$/s.exec(rest) ?? [];
  return validAuthority.test(authority) ? path : undefined;
}

/** User, host and port: what they say does not count, but they must be sound. */
const validAuthority =
  /^(?:(?:[A-Za-z0-9\-._:~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})*@)?(?:\[[0-9A-Fa-f:.]*\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=<>"\]]|[^\u0000-\u007f]|%25|%[89A-Fa-f][0-9A-Fa-f])*)(?::[0-9]*)?$/;

const rooted = (path: string): string => (path === '' || path.startsWith('/') ? path : `/${path}`);

const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/;
const validFragment = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/?]|%[0-9A-Fa-f]{2})*$/;
const plainInPath = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const plainInFragment = /[A-Za-z0-9\-_.~$&+,/:;=@?!()*]/;

/** Text that is a valid encoding stays as it is; else everything that has to be is escaped anew. */
const escapeText = (text: string, valid: RegExp, plain: RegExp): string =>
  valid.test(text) ? text : escapeBytes(unescapedBytes(text), plain);
