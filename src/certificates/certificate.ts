import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateSubject, KeyPair } from '../pki/certificates.ts';
import { AgentError } from '../base/errors.ts';
import { jitter, type Random } from '../base/random.ts';

/** A key pair with the properties of its certificate; times in ms since the epoch. */
export interface Certificate extends KeyPair {
  readonly notBefore: number;
  readonly notAfter: number;
  readonly leaf: X509Certificate;
}

/** Desired content of a certificate. */
export interface CertificateTemplate {
  readonly subject: Required<CertificateSubject>;
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[];
}

const blocks = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----\r?\n?/g;

/**
 * Parses a PEM text with a certificate, its intermediates and its key, in any order.
 *
 * @throws {AgentError} `invalid_argument` when certificate or key is missing, or they do not match
 */
export function readCertificate(text: string): Certificate {
  const found = [...text.matchAll(blocks)].map(([block, label = '']) => ({ block, label }));
  const chain = found.filter(({ label }) => label === 'CERTIFICATE').map(({ block }) => block);
  const key = found.find(({ label }) => label.endsWith('PRIVATE KEY'))?.block;
  const [first] = chain;
  if (first === undefined) throw new AgentError('invalid_argument', 'there is no certificate');
  if (key === undefined) throw new AgentError('invalid_argument', 'there is no private key');
  const leaf = new X509Certificate(first);
  if (!leaf.checkPrivateKey(createPrivateKey(key)))
    throw new AgentError('invalid_argument', 'the private key does not match the certificate');
  return {
    cert: chain.join(''),
    key,
    leaf,
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  };
}

/**
 * Returns when a certificate should be renewed: at a random point between 70 and 90 % of its lifetime (client-go `nextRotationDeadline`).
 */
export const rotationDeadline = (
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  random: Random,
): number => notBefore + jitter(random, notAfter - notBefore, 0.2) - 0.3 * (notAfter - notBefore);

/** True when a certificate contains everything in the template; it may contain more (client-go `certSatisfiesTemplate`). */
export function satisfies({ leaf }: Certificate, { subject, hosts }: CertificateTemplate): boolean {
  const { CN, O } = (leaf.toLegacyObject() as { subject: { CN?: string; O?: string | readonly string[] } })
    .subject;
  const organizations = [O ?? []].flat();
  return (
    CN === subject.commonName &&
    subject.organizations.every((one) => organizations.includes(one)) &&
    hosts.every((host) => names(leaf, host))
  );
}

const names = (leaf: X509Certificate, host: string): boolean =>
  (isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host, { subject: 'never', wildcards: false })) !==
  undefined;

export const sameTemplate = (a: CertificateTemplate, b: CertificateTemplate): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** Returns the subject by which a node authenticates to the API server. */
export const nodeSubject = (nodeName: string): Required<CertificateSubject> => ({
  commonName: `system:node:${nodeName}`,
  organizations: ['system:nodes'],
});

interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/**
 * Returns the template of a node's serving certificate; `undefined` while the node has no address (kubelet `addressesToHostnamesAndIPs`).
 */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
): CertificateTemplate | undefined {
  const hosts = [...new Set(addresses.map(({ address }) => address).filter((address) => address !== ''))];
  return hosts.length === 0 ? undefined : { subject: nodeSubject(nodeName), hosts: hosts.sort() };
}
