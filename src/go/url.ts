import { goQuoteBytes } from './go-quote.ts';
import { ipFault } from './ip-fault.ts';

/** User name and password of a URL, unescaped. */
export interface UserInfo {
  readonly name: string;
  readonly password?: string;
}

/** The parts of a URL; each character is a byte. Absent or empty: the URL does not have the part. */
export interface UrlParts {
  readonly scheme?: string;
  /** The text after the scheme when it does not begin with a slash. */
  readonly opaque?: string;
  readonly user?: UserInfo | undefined;
  /** Host with its port; unescaped. */
  readonly host?: string;
  /** Possibly partially escaped. */
  readonly path?: string;
  readonly query?: string;
  /** True for a question mark without a query. */
  readonly forceQuery?: boolean;
  /** Possibly partially escaped. */
  readonly fragment?: string;
  /** True when the URL begins with a scheme and a single slash. */
  readonly omitHost?: boolean;
}

type Part = 'host' | 'zone' | 'path' | 'user' | 'fragment';

/** Characters that need no escaping in each part. */
const plain: Readonly<Record<Part, RegExp>> = {
  host: /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/,
  zone: /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/,
  path: /[A-Za-z0-9\-_.~$&+,/:;=@]/,
  user: /[A-Za-z0-9\-_.~$&+,;=]/,
  fragment: /[A-Za-z0-9\-_.~$&+,/:;=@?!()*]/,
};

/** GoUrl parses, formats and resolves URLs like Go's `net/url`, which determines error messages and redirect targets. */
export class GoUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: UserInfo | undefined;
  readonly host: string;
  /** Path in escaped form. */
  readonly path: string;
  readonly query: string;
  readonly forceQuery: boolean;
  /** Fragment in escaped form. */
  readonly fragment: string;
  readonly omitHost: boolean;

  constructor(parts: UrlParts) {
    this.scheme = parts.scheme ?? '';
    this.opaque = parts.opaque ?? '';
    this.user = parts.user;
    this.host = parts.host ?? '';
    this.path = normalized(parts.path ?? '', 'path', validPath);
    this.query = parts.query ?? '';
    this.forceQuery = parts.forceQuery ?? false;
    this.fragment = normalized(parts.fragment ?? '', 'fragment', validFragment);
    this.omitHost = parts.omitHost ?? false;
  }

  get parts(): UrlParts {
    const { scheme, opaque, user, host, path, query, forceQuery, fragment, omitHost } = this;
    return { scheme, opaque, user, host, path, query, forceQuery, fragment, omitHost };
  }

  /** Host without port and brackets. */
  get hostname(): string {
    const [, host = '', bracketed] = /^((?:\[(.*)\])|.*?)(?::[0-9]*)?$/s.exec(this.host) ?? [];
    return bracketed ?? host;
  }

  /** Port as digits; empty: the scheme's default. */
  get port(): string {
    return /:([0-9]*)$/.exec(this.host)?.[1] ?? '';
  }

  /** Path and query for the request line. Follows `URL.RequestURI`. */
  get requestUri(): string {
    const opaque = this.opaque.startsWith('//') ? `${this.scheme}:${this.opaque}` : this.opaque;
    const target = opaque === '' ? this.path || '/' : opaque;
    return `${target}${this.#queryText}`;
  }

  get #queryText(): string {
    return this.forceQuery || this.query !== '' ? `?${this.query}` : '';
  }

  /** Formats the URL. Follows `URL.String`. */
  toString(): string {
    const scheme = this.scheme === '' ? '' : `${this.scheme}:`;
    const fragment = this.fragment === '' ? '' : `#${this.fragment}`;
    return `${scheme}${this.opaque || this.#place(scheme)}${this.#queryText}${fragment}`;
  }

  #place(scheme: string): string {
    const { user, host, path, omitHost } = this;
    const authority = `${user ? `${userText(user)}@` : ''}${escaped(host, 'host')}`;
    const isOmitted = authority === '' && !user && (omitHost || path === '' || scheme === '');
    const begin = isOmitted ? '' : `//${authority}`;
    const slash = path !== '' && !path.startsWith('/') && host !== '' ? '/' : '';
    const dot = scheme + begin + slash === '' && /^[^/]*:/.test(path) ? './' : '';
    return `${begin}${slash}${dot}${path}`;
  }

  /** The URL with its password redacted. */
  get withoutPassword(): string {
    if (this.user?.password === undefined) return String(this);
    return String(this).replace(`${userText(this.user)}@`, () => `${this.user?.name ?? ''}:***@`);
  }

  /** The URL without user information, for the Referer header. */
  get withoutUser(): string {
    return String(new GoUrl({ ...this.parts, user: undefined }));
  }

  /** Resolves a reference relative to this URL. Follows `URL.Parse`. @throws {Error} in Go's words */
  resolve(text: string): GoUrl {
    const ref = parseUrl(text);
    const { parts } = ref;
    if (ref.scheme !== '' || ref.host !== '' || ref.user)
      return new GoUrl({
        ...parts,
        scheme: ref.scheme === '' ? this.scheme : ref.scheme,
        path: resolvedPath(ref.path, ''),
      });
    const within = { ...parts, scheme: this.scheme };
    return new GoUrl(ref.opaque === '' ? { ...within, ...this.#placeOf(within) } : within);
  }

  /** Returns the parts that a reference without its own authority inherits. */
  #placeOf({ path = '', query = '', forceQuery, fragment = '' }: UrlParts): UrlParts {
    const isSamePage = path === '' && !forceQuery && query === '';
    const rest = {
      query: isSamePage ? this.query : query,
      fragment: isSamePage && fragment === '' ? this.fragment : fragment,
    };
    const { host, user, opaque } = this;
    if (path === '' && opaque !== '') return { ...rest, opaque };
    return { ...rest, host, user, path: resolvedPath(this.path, path) };
  }
}

const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9A-Fa-f]{2})*$/;
const validFragment = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/?]|%[0-9A-Fa-f]{2})*$/;

/** Keeps a correctly escaped text; otherwise escapes it again. */
const normalized = (text: string, part: Part, valid: RegExp): string =>
  valid.test(text) ? text : escaped(unescaped(text), part);

const escaped = (bytes: string, part: Part): string =>
  bytes.replace(/[^]/g, (byte) =>
    plain[part].test(byte) ? byte : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

const unescaped = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16)));

const userText = ({ name, password }: UserInfo): string =>
  `${escaped(name, 'user')}${password === undefined ? '' : `:${escaped(password, 'user')}`}`;

/** Resolves `.` and `..` elements; the result begins with a slash. */
function resolvedPath(base: string, ref: string): string {
  const full = ref === '' ? base : ref.startsWith('/') ? ref : base.slice(0, base.lastIndexOf('/') + 1) + ref;
  if (full === '') return '';
  const resolved: string[] = [];
  const segments = full.split('/');
  const [last = ''] = segments.slice(-1);
  for (const [at, segment] of segments.entries()) {
    if (at === 0 && segment === '') continue;
    if (segment === '..') resolved.pop();
    else if (segment !== '.') resolved.push(segment);
  }
  if (last === '.' || last === '..') resolved.push('');
  return `/${resolved.join('/')}`;
}

/**
 * Parses a URL or a reference. Follows `url.Parse`.
 *
 * @param text one byte per character, as {@link bytesOf} returns
 * @throws {Error} in Go's words: `parse "TEXT": …`
 */
export function parseUrl(text: string): GoUrl {
  const hash = text.indexOf('#');
  const before = hash < 0 ? text : text.slice(0, hash);
  const fragment = hash < 0 ? '' : text.slice(hash + 1);
  const parts = attempt(before, () => partsOf(before));
  attempt(text, () => {
    checkEscapes(fragment, 'fragment');
  });
  return new GoUrl({ ...parts, fragment });
}

function attempt<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`parse ${goQuoteBytes(text)}: ${(cause as Error).message}`, { cause });
  }
}

/** Converts a text to its UTF-8 bytes, one per character. */
export const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** Decodes bytes, one per character, as UTF-8. */
export const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString();

function partsOf(text: string): UrlParts {
  if (/[\0-\x1f\x7f]/.test(text)) throw new Error('net/url: invalid control character in URL');
  if (text === '*') return { path: '*' };
  if (text.startsWith(':')) throw new Error('missing protocol scheme');
  const [, sent = '', rest = text] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  const scheme = sent.toLowerCase();
  const mark = rest.indexOf('?');
  const place = mark < 0 ? rest : rest.slice(0, mark);
  const query = mark < 0 ? '' : rest.slice(mark + 1);
  return { scheme, query, forceQuery: mark >= 0 && query === '', ...placeOf(scheme, place) };
}

function placeOf(scheme: string, text: string): UrlParts {
  if (!text.startsWith('/')) {
    if (scheme !== '') return { opaque: text };
    if (/^[^/]*:/.test(text)) throw new Error('first path segment in URL cannot contain colon');
  }
  const hasAuthority = text.startsWith('//') && (scheme !== '' || !text.startsWith('///'));
  const [, authority = '', path = text] = (hasAuthority ? /^\/\/([^/]*)(.*)$/s.exec(text) : undefined) ?? [];
  const place = hasAuthority ? authorityOf(scheme, authority) : { omitHost: scheme !== '' };
  checkEscapes(path, 'path');
  return { ...place, path };
}

const validUser = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

function authorityOf(scheme: string, authority: string): Pick<UrlParts, 'user' | 'host'> {
  const at = authority.lastIndexOf('@');
  const host = hostOf(scheme, authority.slice(at + 1));
  if (at < 0) return { host };
  const text = authority.slice(0, at);
  if (!validUser.test(text)) throw new Error('net/url: invalid userinfo');
  const [, name = '', password] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  checkEscapes(name, 'user');
  checkEscapes(password ?? '', 'user');
  const user = { name: unescaped(name), ...(password !== undefined && { password: unescaped(password) }) };
  return { host, user };
}

/** Parses host and port, unescaped. Follows `parseHost`. */
function hostOf(scheme: string, host: string): string {
  const open = host.lastIndexOf('[');
  if (open > 0) throw new Error('invalid IP-literal');
  if (open === 0) return literalOf(host);
  const isStrict = scheme === 'http' || scheme === 'https';
  const colon = isStrict ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0) checkPort(host.slice(colon));
  checkEscapes(host, 'host');
  return unescaped(host);
}

function literalOf(host: string): string {
  const close = host.lastIndexOf(']');
  if (close < 0) throw new Error("missing ']' in host");
  const [inside, port] = [host.slice(1, close), host.slice(close + 1)];
  checkPort(port);
  const zone = inside.indexOf('%25');
  checkEscapes(zone < 0 ? inside : inside.slice(0, zone), 'host');
  if (zone >= 0) checkEscapes(inside.slice(zone), 'zone');
  const address = unescaped(inside);
  const fault = ipFault(textOf(address));
  if (fault !== undefined) throw new Error(`invalid host: ${fault}`);
  if (!address.includes(':')) throw new Error('invalid IP-literal');
  return `[${address}]${port}`;
}

function checkPort(port: string): void {
  if (!/^(?::[0-9]*)?$/.test(port)) throw new Error(`invalid port ${goQuoteBytes(port)} after host`);
}

/** Checks the escapes of a part. @throws {Error} for an invalid escape, or one that the part may not contain */
function checkEscapes(text: string, part: Part): void {
  const isHost = part === 'host' || part === 'zone';
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? '';
    if (byte === '%') {
      const found = text.slice(at, at + 3);
      if (!isEscape(found, part)) throw new Error(`invalid URL escape ${goQuoteBytes(found)}`);
      at += 2;
    } else if (isHost && byte < '\u0080' && !plain[part].test(byte))
      throw new Error(`invalid character ${goQuoteBytes(byte)} in host name`);
  }
}

function isEscape(found: string, part: Part): boolean {
  if (!/^%[0-9A-Fa-f]{2}$/.test(found)) return false;
  if (found === '%25') return true;
  if (part === 'host') return found >= '%8'; // only non-ASCII bytes
  return part !== 'zone' || found === '%20' || plain.host.test(unescaped(found));
}

/** Returns a URL text with its password redacted. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/@:]*):[^/]*@/, '$1:***@');
