import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

interface Block {
  readonly type: string;
  readonly der: Buffer;
}

const block = /-----BEGIN ([^\n-]+)-----\s*\n([A-Za-z0-9+/=\s]*?)-----END \1-----/g;

const blocksOf = (pem: string): readonly Block[] =>
  [...pem.matchAll(block)].map(([, type = '', text = '']) => ({ type, der: Buffer.from(text, 'base64') }));

const list = (blocks: readonly Block[]): string => `[${blocks.map(({ type }) => type).join(' ')}]`;
const isKey = ({ type }: Block): boolean => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');

/** Returns why a PEM certificate and key are not a pair; `undefined`: they are. Follows the messages of Go's `tls.X509KeyPair`. */
export function keyPairFault(cert: string, key: string): string | undefined {
  const certs = blocksOf(cert);
  const leaf = certs.find(({ type }) => type === 'CERTIFICATE');
  if (!leaf) return `tls: ${noCertificate(certs)}`;
  const keys = blocksOf(key);
  const found = keys.find(isKey);
  if (!found) return `tls: ${noKey(keys)}`;
  const certificate = readCertificate(leaf.der);
  if (!certificate) return 'x509: malformed certificate';
  const own = readKey(found.der);
  if (!own) return 'tls: failed to parse private key';
  if (own.asymmetricKeyType !== certificate.publicKey.asymmetricKeyType)
    return 'tls: private key type does not match public key type';
  return certificate.checkPrivateKey(own) ? undefined : 'tls: private key does not match public key';
}

function noCertificate(skipped: readonly Block[]): string {
  const [first] = skipped;
  if (!first) return 'failed to find any PEM data in certificate input';
  return skipped.length === 1 && first.type.endsWith('PRIVATE KEY')
    ? 'failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
    : `failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${list(skipped)}`;
}

function noKey(skipped: readonly Block[]): string {
  const [first] = skipped;
  if (!first) return 'failed to find any PEM data in key input';
  return skipped.length === 1 && first.type === 'CERTIFICATE'
    ? 'found a certificate rather than a key in the PEM for the private key'
    : `failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${list(skipped)}`;
}

function readCertificate(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

/** Parses a key in any of the three common encodings. */
function readKey(der: Buffer): KeyObject | undefined {
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const)
    try {
      return createPrivateKey({ key: der, format: 'der', type });
    } catch {
      // try the next encoding
    }
  return undefined;
}
