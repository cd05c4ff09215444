import { joinHostPort } from '../base/host-port.ts';
import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { HttpGetRequest } from '../go/http-get.ts';
import { resolvePort } from './container-port.ts';
import type { Container, Probe } from './types.ts';
import { escapeBytes, unescapedBytes } from '../go/percent-encoding.ts';
import { escapeHost, hostFault } from '../go/url-host.ts';

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
  const { opaque, path, query, fragment, user } = target;
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
    ...authOf(user),
  };
}

function authOf(user: string | undefined): Pick<HttpGetRequest, 'auth'> {
  if (user === undefined) return {};
  return { auth: unescapedBytes(user.includes(':') ? user : `${user}:`).toString() };
}

/** All of the URL but its fragment. */
function addressOf(scheme: string, hostPort: string, { opaque, user, path, query }: Target): string {
  if (opaque !== undefined) return `${scheme}:${opaque}${query}`;
  const host = escapeHost(hostPort);
  const address = `${scheme}://${user === undefined ? '' : `${user}@`}${host}${path}${query}`;
  const fault = hostFault(host);
  if (fault !== undefined) throw new AgentError('invalid_argument', `parse ${goQuote(address)}: ${fault}`);
  return address;
}

function headersOf(
  { httpHeaders = [] }: HttpGet,
  userAgent: string,
): Readonly<Record<string, readonly string[]>> {
  const headers = new Map<string, string[]>();
  for (const { name, value } of httpHeaders) {
    const canonical = canonicalHeader(name);
    headers.set(canonical, [...(headers.get(canonical) ?? []), value]);
  }
  if (!headers.has('User-Agent')) headers.set('User-Agent', [userAgent]);
  const accept = headers.get('Accept') ?? ['*/*'];
  if (accept[0] === '') headers.delete('Accept');
  else headers.set('Accept', accept);
  return Object.fromEntries(headers);
}

/** `x-request-id` → `X-Request-Id`; a name that is no token stays as it is. Follows Go `textproto.CanonicalMIMEHeaderKey`. */
function canonicalHeader(name: string): string {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

interface Target {
  /** What stands behind a scheme without a slash: such a URL names no host. */
  readonly opaque?: string;
  /** Name and password, escaped: they go along, also where the host does not count. */
  readonly user?: string;
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
function placeOf(text: string): Pick<Target, 'opaque' | 'user' | 'path'> | undefined {
  const [, scheme, rest = text] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined && /^[^/]*:/.test(text)) return undefined;
  if (scheme !== undefined && /^[^/]/.test(rest)) return { opaque: rest, path: '' };
  const hasAuthority = rest.startsWith('//') && (scheme !== undefined || !rest.startsWith('///'));
  return hasAuthority ? behindAuthority(rest) : pathOf(rest);
}

function behindAuthority(text: string): Pick<Target, 'user' | 'path'> | undefined {
  const [, user, host = '', path = ''] = /^\/\/(?:([^/]*)@)?([^/]*)(.*)$/s.exec(text) ?? [];
  const place = pathOf(path);
  if (!place || !isHost(host)) return undefined;
  if (user === undefined) return place;
  return validUser.test(user) ? { ...place, user: escapeUser(user) } : undefined;
}

const pathOf = (path: string): Pick<Target, 'path'> | undefined =>
  brokenEscape.test(path) ? undefined : { path: rooted(escapeText(path, validPath, plainInPath)) };

const validUser = /^(?:[A-Za-z0-9\-._:~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})*$/;
const plainInUser = /[A-Za-z0-9\-_.~$&+,;=]/;

/** Only the first colon parts name and password. */
function escapeUser(text: string): string {
  const [, name = '', password] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  const parts = password === undefined ? [name] : [name, password];
  return parts.map((part) => escapeBytes(unescapedBytes(part), plainInUser)).join(':');
}

const hostText = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]|[^\u0000-\u007f]|%[0-9A-Fa-f]{2})*$/;

/** Host and port: what they say does not count, but they must be sound. */
const isHost = (text: string): boolean =>
  hostText.test(text) &&
  hostFault(text) === undefined &&
  (text.startsWith('[') || /^(?:[^:]*|.*:[0-9]*)$/.test(text));

const rooted = (path: string): string => (path === '' || path.startsWith('/') ? path : `/${path}`);

const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/;
const validFragment = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/?]|%[0-9A-Fa-f]{2})*$/;
const plainInPath = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const plainInFragment = /[A-Za-z0-9\-_.~$&+,/:;=@?!()*]/;

/** Text that is a valid encoding stays as it is; else everything that has to be is escaped anew. */
const escapeText = (text: string, valid: RegExp, plain: RegExp): string =>
  valid.test(text) ? text : escapeBytes(unescapedBytes(text), plain);
