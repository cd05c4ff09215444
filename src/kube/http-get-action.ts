import { AgentError, messageOf } from '../base/errors.ts';
import { joinHostPort } from '../base/host-port.ts';
import { canonicalHeader } from '../go/http/mime-header.ts';
import type { HttpGetRequest } from '../go/http/request.ts';
import { bytesOf, GoUrl, parseUrl, type UrlParts } from '../go/url.ts';
import { escapedPath } from '../go/url-path.ts';
import { resolvePort } from './container-port.ts';
import type { Container, Probe } from './types.ts';

type HttpGet = NonNullable<Probe['httpGet']>;

/** An `httpGet` action and the defaults of its address. */
export interface HttpGetTarget {
  readonly httpGet: HttpGet;
  /** Host when the action sets none. */
  readonly podIp: string;
  /** Ports of the container, for named ports. */
  readonly ports: Container['ports'];
}

/** Returns the user agent of probes or hooks. */
export const userAgentOf = (purpose: 'probe' | 'lifecycle'): string => `kube-${purpose}/1.36`;

/**
 * Returns the request of an `httpGet` action of a probe or hook.
 *
 * Follows kubelet `probe/http.NewRequestForHTTPGetAction`.
 *
 * @param purpose `probe` or `lifecycle`; sets the user agent
 * @throws {Error} when the port is invalid, or Go would reject the host in a URL
 */
export function httpGetRequest(
  { httpGet, podIp, ports }: HttpGetTarget,
  purpose: 'probe' | 'lifecycle' = 'probe',
): HttpGetRequest {
  const host = httpGet.host === undefined || httpGet.host === '' ? podIp : httpGet.host;
  const place = new GoUrl({
    ...partsOf(bytesOf(httpGet.path ?? '')),
    scheme: (httpGet.scheme ?? '').toLowerCase() || 'http',
    host: bytesOf(joinHostPort(host, resolvePort(httpGet.port, ports))),
  });
  const headers = headersOf(httpGet, userAgentOf(purpose));
  return { url: parsed(String(place)), hostHeader: headers['Host']?.[0] ?? '', headers };
}

function parsed(text: string): GoUrl {
  try {
    return parseUrl(text);
  } catch (cause) {
    throw new AgentError('invalid_argument', messageOf(cause), { cause });
  }
}

/** Parses the action's path as a URL and drops scheme and host; text that is not a URL is used as the path. */
function partsOf(text: string): UrlParts {
  try {
    return parseUrl(text);
  } catch {
    return { path: escapedPath(text) };
  }
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
