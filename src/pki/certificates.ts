import { tableOf } from '../base/own.ts';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { isIP } from 'node:net';
import {
  bits,
  certificateTime,
  type Element,
  elements,
  integer,
  octets,
  oid,
  oidText,
  sequence,
  setOf,
  tagged,
  truth,
  utf8,
} from './der.ts';

/** A private key and its certificate, PEM. */
export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

/** Subject of a certificate: common name and organizations. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/** Subject of a certificate that may be a user's. */
export interface UserSubject extends CertificateSubject {
  /** Kubernetes' UID of a user; more than one, or an empty one, is invalid for a client. Default: none. */
  readonly uids?: readonly string[];
}

export type ExtendedUsage = 'server auth' | 'client auth';

interface CertificateRequest {
  readonly subject: UserSubject;
  readonly publicKey: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly usages?: readonly ExtendedUsage[];
  /** DNS names and IP addresses for the subject alternative name. */
  readonly hosts?: readonly string[];
  readonly ca?: boolean;
}

const ecdsaSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const usageOids: Readonly<Record<ExtendedUsage, string>> = {
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
};

const attribute = (type: string, value: string): Buffer => setOf(sequence(oid(type), utf8(value)));

/** The attribute of a subject that is the UID of a Kubernetes user. */
const uidType = '1.3.6.1.4.1.57683.2';

const nameOf = ({ commonName, organizations = [], uids = [] }: UserSubject): Buffer =>
  sequence(
    ...organizations.map((o) => attribute('2.5.4.10', o)),
    attribute('2.5.4.3', commonName),
    ...uids.map((uid) => attribute(uidType, uid)),
  );

export const pem = (label: string, body: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${(
    Buffer.from(body)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  ).join('\n')}\n-----END ${label}-----\n`;

/** Returns the bytes of the first PEM block with one of the labels. */
export function unpem(text: string, ...labels: readonly string[]): Buffer | undefined {
  const match = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----/.exec(text);
  if (!match || !labels.includes(match[1] ?? '')) return undefined;
  return Buffer.from(match[2] ?? '', 'base64');
}

const address = (host: string): Buffer =>
  isIP(host) === 4
    ? Buffer.from(host.split('.').map(Number))
    : Buffer.from(expand(host).flatMap((group) => [group >> 8, group & 0xff]));

function expand(host: string): number[] {
  const [head = '', tail] = host.split('::');
  const left = head === '' ? [] : head.split(':').map((g) => parseInt(g, 16));
  if (tail === undefined) return left;
  const right = tail === '' ? [] : tail.split(':').map((g) => parseInt(g, 16));
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function extension(id: string, critical: boolean, body: Buffer): Buffer {
  return critical ? sequence(oid(id), truth(), octets(body)) : sequence(oid(id), octets(body));
}

const alternativeNamesOf = (hosts: readonly string[]): Buffer =>
  sequence(
    ...hosts.map((host) =>
      isIP(host) ? tagged(7, address(host), false) : tagged(2, Buffer.from(host), false),
    ),
  );

/** Returns the SHA-1 of the public key's bits, by which certificates refer to a key. */
function keyId(key: KeyObject): Buffer {
  const [, body] = elements(
    elements(key.export({ type: 'spki', format: 'der' }))[0]?.body ?? Buffer.alloc(0),
  );
  return createHash('sha1')
    .update(body?.body.subarray(1) ?? Buffer.alloc(0))
    .digest();
}

function extensionsOf(request: CertificateRequest, issuerKey: KeyObject): Buffer {
  const list = [
    extension('2.5.29.15', true, request.ca ? bits(Buffer.from([0xa4]), 2) : bits(Buffer.from([0xa0]), 5)),
  ];
  if (request.usages?.length)
    list.push(
      extension('2.5.29.37', false, sequence(...request.usages.map((usage) => oid(usageOids[usage])))),
    );
  list.push(extension('2.5.29.19', true, request.ca ? sequence(truth()) : sequence()));
  list.push(extension('2.5.29.14', false, octets(keyId(request.publicKey))));
  list.push(extension('2.5.29.35', false, sequence(tagged(0, keyId(issuerKey), false))));
  if (request.hosts?.length) list.push(extension('2.5.29.17', false, alternativeNamesOf(request.hosts)));
  return tagged(3, sequence(...list));
}

/**
 * Authority is a certificate authority with an EC key that signs certificates for servers and clients.
 *
 * @example
 * const authority = Authority.create('tests', Date.now());
 * const { cert, key } = authority.issue({ subject: { commonName: 'me' }, notBefore, notAfter, usages: ['client auth'] });
 */
export class Authority {
  readonly cert: string;
  readonly key: string;
  readonly #key: KeyObject;
  readonly #issuer: Buffer;
  readonly #publicKey: KeyObject;

  constructor(pair: KeyPair) {
    this.cert = pair.cert;
    this.key = pair.key;
    this.#key = createPrivateKey(pair.key);
    this.#publicKey = createPublicKey(this.#key);
    const [body] = elements(
      elements(unpem(pair.cert, 'CERTIFICATE') ?? Buffer.alloc(0))[0]?.body ?? Buffer.alloc(0),
    );
    this.#issuer = elements(body?.body ?? Buffer.alloc(0))[5]?.whole ?? Buffer.alloc(0);
  }

  /** Creates an authority that is valid for ten years from `now` on, unless another validity is given. */
  static create(
    commonName: string,
    now: number,
    validity: Pick<CertificateRequest, 'notBefore' | 'notAfter'> = {
      notBefore: now - hour,
      notAfter: now + 10 * year,
    },
  ): Authority {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const subject = { commonName };
    const cert = write(
      { subject, publicKey, ...validity, ca: true },
      { name: nameOf(subject), key: privateKey, publicKey },
    );
    return new Authority({ cert, key: keyPem(privateKey) });
  }

  /** Creates a key and a certificate for it. */
  issue(request: Omit<CertificateRequest, 'publicKey'>): KeyPair {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    return {
      cert: this.sign({ ...request, publicKey }),
      key: keyPem(privateKey),
    };
  }

  /** Signs a certificate for the public key of a request, PEM. */
  sign(request: CertificateRequest): string {
    return write(request, { name: this.#issuer, key: this.#key, publicKey: this.#publicKey });
  }
}

export const hour = 3_600_000;
export const year: number = 365 * 24 * hour;

function write(
  request: CertificateRequest,
  issuer: { readonly name: Buffer; readonly key: KeyObject; readonly publicKey: KeyObject },
): string {
  const serial = randomBytes(16);
  serial[0] = (serial[0] ?? 0) & 0x7f || 1;
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaSha256,
    issuer.name,
    sequence(certificateTime(request.notBefore), certificateTime(request.notAfter)),
    nameOf(request.subject),
    request.publicKey.export({ type: 'spki', format: 'der' }),
    extensionsOf(request, issuer.publicKey),
  );
  return pem('CERTIFICATE', sequence(body, ecdsaSha256, bits(sign('sha256', body, issuer.key))));
}

/** The content of a certificate signing request (PKCS#10). */
export interface SigningRequest {
  readonly subject: CertificateSubject;
  readonly publicKey: KeyObject;
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

const ipText = (body: Buffer): string =>
  body.length === 4
    ? [...body].join('.')
    : Array.from({ length: 8 }, (_, i) => body.readUInt16BE(i * 2).toString(16)).join(':');

const nothing = Buffer.alloc(0);
const bodyOf = (element: Element | undefined): Buffer => element?.body ?? nothing;
const firstIn = (body: Buffer): Buffer => bodyOf(elements(body)[0]);

/** Returns the values of the attributes or extensions of one type. */
const valuesOf = (list: readonly Element[], type: string): Buffer[] =>
  list.flatMap(({ body }) => {
    const parts = elements(body);
    return oidText(bodyOf(parts[0])) === type ? [bodyOf(parts.at(-1))] : [];
  });

function subjectOf(name: Element): UserSubject {
  const pairs = elements(name.body).flatMap((set) => elements(set.body));
  const texts = (type: string): string[] => valuesOf(pairs, type).map((value) => value.toString());
  const commonName = texts('2.5.4.3').at(-1) ?? '';
  return { commonName, organizations: texts('2.5.4.10'), uids: texts(uidType) };
}

/** Returns the user IDs in the subject of a certificate. @throws {Error} when the bytes are not a certificate */
export function certificateUids(certificate: Buffer): readonly string[] {
  const fields = elements(firstIn(firstIn(certificate)));
  // the version comes first, where there is one
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4];
  if (!subject) throw new Error('not a certificate');
  return subjectOf(subject).uids ?? [];
}

function alternativeNames(
  attributes: Element | undefined,
): Pick<SigningRequest, 'dnsNames' | 'ips' | 'emails' | 'uris'> {
  const names = valuesOf(attributes ? elements(attributes.body) : [], '1.2.840.113549.1.9.14')
    .flatMap((values) => valuesOf(elements(firstIn(values)), '2.5.29.17'))
    .flatMap((value) => elements(firstIn(value)));
  const tagged = (number: number): Buffer[] =>
    names.filter(({ tag }) => (tag & 0x1f) === number).map(({ body }) => body);
  const texts = (number: number): string[] => tagged(number).map((body) => body.toString());
  return { emails: texts(1), dnsNames: texts(2), uris: texts(6), ips: tagged(7).map(ipText) };
}

const signatureHash: Readonly<Record<string, string | null>> = tableOf({
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.3.101.112': null,
});

/** Parses a PKCS#10 request and verifies its signature. @throws {Error} when it is not a request or the signature does not match its key */
export function readSigningRequest(text: string): SigningRequest {
  const bytes = unpem(text, 'CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST');
  if (!bytes) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const [info, algorithm, signature] = elements(firstIn(bytes));
  const [, name, key, attributes] = info ? elements(info.body) : [];
  if (!info || !signature || !name || !key) throw new Error('not a certificate signing request');
  const publicKey = createPublicKey({ key: key.whole, format: 'der', type: 'spki' });
  const hash = signatureHash[oidText(firstIn(bodyOf(algorithm)))];
  if (hash === undefined || !verify(hash, info.whole, publicKey, signature.body.subarray(1)))
    throw new Error('the signature of the request does not match its key');
  return { subject: subjectOf(name), publicKey, ...alternativeNames(attributes) };
}

/** Creates a PKCS#10 request, PEM; `key` is the private key in PEM. */
export function writeSigningRequest(
  key: string,
  subject: CertificateSubject,
  hosts: readonly string[] = [],
): string {
  const privateKey = createPrivateKey(key);
  const publicKey = createPublicKey(privateKey);
  const extensions = hosts.length > 0 ? [extension('2.5.29.17', false, alternativeNamesOf(hosts))] : [];
  const attributes =
    extensions.length > 0
      ? sequence(oid('1.2.840.113549.1.9.14'), setOf(sequence(...extensions)))
      : Buffer.alloc(0);
  const info = sequence(
    integer(Buffer.from([0])),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0, attributes),
  );
  return pem('CERTIFICATE REQUEST', sequence(info, ecdsaSha256, bits(sign('sha256', info, privateKey))));
}

/** An EC key as SEC 1 (`EC PRIVATE KEY`), as Go's programs write it: Java's fabric8 client takes a `PRIVATE KEY` for RSA. */
const keyPem = (key: KeyObject): string => key.export({ type: 'sec1', format: 'pem' }).toString();

/** Creates an EC key, PEM. */
export function createKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return keyPem(privateKey);
}
