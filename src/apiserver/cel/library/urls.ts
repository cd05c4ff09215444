import { bytesOf, type GoUrl, parseUrl, textOf } from '../../../go/url.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { func, type Library, method } from '../check/declarations.ts';
import { boolType, libraryType, listType, mapType, stringType, type Type } from '../check/types.ts';
import { EvalError, keyOf, Opaque, PlainMap, type Value } from '../values/value.ts';
import { listOf } from './strings.ts';

export const urlType: Type = libraryType('kubernetes.URL');

class Url extends Opaque {
  readonly type = urlType;
  readonly url: GoUrl;
  constructor(url: GoUrl) {
    super();
    this.url = url;
  }
  same(other: Opaque): boolean {
    return String(this.url) === String((other as Url).url);
  }
}

/** Parses an absolute URL or path. Follows Go's `url.ParseRequestURI`, then `url.Parse`. @throws {Error} in Go's words */
export function parseRequestUri(text: string): GoUrl {
  const bytes = bytesOf(text);
  if (text === '') throw new Error('parse "": empty url');
  const isRelative = !/^([A-Za-z][A-Za-z0-9+.-]*:|[/:*])/.test(text) && !/[\x00-\x1f\x7f]/.test(text);
  if (isRelative) throw new Error(`parse ${goQuote(text)}: invalid URI for request`);
  const whole = parseUrl(bytes);
  if (!text.startsWith('/') && whole.scheme === '')
    throw new Error(`parse ${goQuote(text)}: invalid URI for request`);
  return whole;
}

function toUrl(text: Value): Value {
  try {
    return new Url(parseRequestUri(text as string));
  } catch (reason) {
    throw new EvalError(`URL parse error during conversion from string: ${(reason as Error).message}`);
  }
}

function isUrl(text: Value): Value {
  try {
    parseRequestUri(text as string);
    return true;
  } catch {
    return false;
  }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

function queryOf(url: Value): Value {
  const values = new Map<string, string[]>();
  for (const pair of textOf((url as Url).url.query).split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [name = '', ...rest] = pair.split('=');
    const [key, value] = [decoded(name), decoded(rest.join('='))];
    if (key === undefined || value === undefined) continue;
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return PlainMap.of(
    new Map([...values].map(([key, list]) => [keyOf(key) ?? '', [key, listOf(list)] as const])),
  );
}

const part = (name: string, id: string, read: (url: GoUrl) => string): Library['functions'][number] =>
  method(name, [`url_get_${id}`, [urlType], stringType, (url) => textOf(read((url as Url).url))]);

/** Kubernetes' URLs. */
export const urls: Library = {
  functions: [
    func('url', ['string_to_url', [stringType], urlType, toUrl]),
    func('isURL', ['is_url_string', [stringType], boolType, isUrl]),
    part('getScheme', 'scheme', (url) => url.scheme),
    part('getHost', 'host', (url) => url.host),
    part('getHostname', 'hostname', (url) => url.hostname),
    part('getPort', 'port', (url) => url.port),
    part('getEscapedPath', 'escaped_path', (url) => url.path),
    method('getQuery', ['url_get_query', [urlType], mapType(stringType, listType(stringType)), queryOf]),
  ],
  types: [urlType],
};
