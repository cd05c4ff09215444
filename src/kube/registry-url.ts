import { goQuote } from '../go/go-quote.ts';

/** `host[:port][/path]`, the form of image and registry names; `host` includes the port. */
export interface RegistryUrl {
  readonly host: string;
  /** Path with its leading slash; empty: none. */
  readonly path: string;
}

/**
 * Parses a URL without a scheme like Go's `url.Parse` with `https://` before it.
 *
 * @returns the error message in Go's words when it is invalid
 */
export function parseSchemelessUrl(text: string): RegistryUrl | string {
  const fault = (why: string): string => `parse ${goQuote(`https://${text}`)}: ${why}`;
  if (/[\u0000-\u001f\u007f]/.test(text)) return fault('net/url: invalid control character in URL');
  const [, authority = '', rawPath = ''] = /^([^/?#]*)([^?#]*)/.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const hostFault = faultOfHost(host);
  if (hostFault !== undefined) return fault(hostFault);
  const escape = badEscape(rawPath);
  if (escape !== undefined) return fault(`invalid URL escape ${goQuote(escape)}`);
  return { host, path: unescape(rawPath) };
}

function faultOfHost(host: string): string | undefined {
  const bracketed = host.startsWith('[');
  if (bracketed && !host.includes(']')) return "missing ']' in host";
  const port = bracketed ? host.slice(host.lastIndexOf(']') + 1) : (/:[^:]*$/.exec(host)?.[0] ?? '');
  if (port !== '' && !/^:\d*$/.test(port)) return `invalid port ${goQuote(port)} after host`;
  const escape = /%[^%]{0,2}/.exec(host)?.[0];
  if (escape !== undefined) return `invalid URL escape ${goQuote(escape)}`;
  const odd = /[^\w.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}-]/u.exec(host)?.[0];
  return odd === undefined ? undefined : `invalid character ${goQuote(odd)} in host name`;
}

const badEscape = (path: string): string | undefined => /%(?![0-9a-fA-F]{2}).{0,2}/.exec(path)?.[0];

const unescape = (path: string): string =>
  path.includes('%')
    ? Buffer.from(
        path.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString()
    : path;

/**
 * True when a registry matches a pattern: the same number of host labels, each matching its glob; the same port; the path begins with the
 * pattern's.
 * Globs are allowed in hosts only. Follows `URLsMatchStr` (pkg/credentialprovider).
 */
export function registryMatches(pattern: string, target: string): boolean {
  const [glob, url] = [parseSchemelessUrl(pattern), parseSchemelessUrl(target)];
  if (typeof glob === 'string' || typeof url === 'string') return false;
  const [globParts, globPort] = splitHost(glob.host);
  const [parts, port] = splitHost(url.host);
  return (
    globPort === port &&
    globParts.length === parts.length &&
    url.path.startsWith(glob.path) &&
    globParts.every((part, index) => globMatches(part, parts[index] ?? ''))
  );
}

/** Returns the labels of a host, and its port. Follows Go's `net.SplitHostPort`: text that it cannot split is all host. */
function splitHost(host: string): readonly [parts: readonly string[], port: string] {
  const [, bracketed, plain, port] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(host) ?? [];
  return port === undefined ? [host.split('.'), ''] : [(bracketed ?? plain ?? '').split('.'), port];
}

/** Matches shell patterns like Go's `filepath.Match`; a malformed pattern matches nothing. */
export function globMatches(pattern: string, text: string): boolean {
  let source = '';
  for (let at = 0; at < pattern.length;) {
    const [part, escaped, negated, set] =
      /^(?:\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|[^\\[])/su.exec(pattern.slice(at)) ?? [];
    if (part === undefined) return false;
    at += part.length;
    if (escaped !== undefined) source += literal(escaped);
    else if (set !== undefined) {
      const range = classOf(set);
      if (range === undefined) return false;
      source += `[${negated === '^' ? '^' : ''}${range}]`;
    } else if (part === '*') source += '[^/]*';
    else source += part === '?' ? '[^/]' : literal(part);
  }
  return new RegExp(`^${source}$`, 'su').test(text);
}

const literal = (character: string): string =>
  /\w/.test(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Converts the content of a bracket expression; `undefined` when it is malformed. */
function classOf(set: string): string | undefined {
  let source = '';
  for (let at = 0; at < set.length;) {
    const [part, low, high] = /^(\\.|[^\\-])(?:-(\\.|[^\\-]))?/su.exec(set.slice(at)) ?? [];
    if (part === undefined || low === undefined) return undefined;
    at += part.length;
    const [from, to] = [low.slice(-1), high?.slice(-1)];
    if (to !== undefined && from > to) continue; // an empty range matches nothing
    source += to === undefined ? literal(from) : `${literal(from)}-${literal(to)}`;
  }
  return source;
}
