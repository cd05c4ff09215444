import { createHash, createHmac } from 'node:crypto';

/** How requests are signed: `acs3` is ACS3-HMAC-SHA256 in headers, `v1` the classic RPC signature in the query. */
export type SignatureAlgorithm = 'acs3' | 'v1';

/** What a request is signed with. */
export interface EciCredential {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** Of temporary credentials (STS). */
  readonly securityToken?: string;
}

/** The parts of an HTTP request that a signature covers. */
export interface SignedParts {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** percentEncode encodes as RFC 3986 says: everything but letters, digits and `-_.~`. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

const byName = <T>(map: Readonly<Record<string, T>>): [string, T][] =>
  Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));

/** canonicalQuery is the query sorted by name and percent-encoded, as both algorithms sign it. */
export const canonicalQuery = (query: Readonly<Record<string, string>>): string =>
  byName(query)
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .join('&');

/** sha256Hex is the SHA-256 of a text, in hex. */
export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

const isSigned = (name: string): boolean =>
  name.startsWith('x-acs-') || name === 'host' || name === 'content-type';

/** acs3Canonical is the canonical request of ACS3-HMAC-SHA256. */
export function acs3Canonical({ method, path, query, headers, body }: SignedParts): string {
  const signed = byName(headers).filter(([name]) => isSigned(name));
  const lines = signed.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const names = signed.map(([name]) => name).join(';');
  return [method, path, canonicalQuery(query), lines, names, sha256Hex(body)].join('\n');
}

/** acs3Authorization is the value of the `Authorization` header of ACS3-HMAC-SHA256. */
export function acs3Authorization(
  parts: SignedParts,
  { accessKeyId, accessKeySecret }: EciCredential,
): string {
  const algorithm = 'ACS3-HMAC-SHA256';
  const signature = createHmac('sha256', accessKeySecret)
    .update(`${algorithm}\n${sha256Hex(acs3Canonical(parts))}`)
    .digest('hex');
  const names = byName(parts.headers)
    .map(([name]) => name)
    .filter(isSigned)
    .join(';');
  return `${algorithm} Credential=${accessKeyId},SignedHeaders=${names},Signature=${signature}`;
}

/** v1Signature is the `Signature` parameter of the classic RPC style; `query` holds all other parameters. */
export const v1Signature = (
  method: string,
  query: Readonly<Record<string, string>>,
  accessKeySecret: string,
): string =>
  createHmac('sha1', `${accessKeySecret}&`)
    .update(`${method}&${percentEncode('/')}&${percentEncode(canonicalQuery(query))}`)
    .digest('base64');
