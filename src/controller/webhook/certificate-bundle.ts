import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { Authority, hour, type KeyPair } from '../../pki/certificates.ts';

/** A serving certificate with its authority, PEM. */
export interface CertificateBundle extends KeyPair {
  /** The authorities that clients trust: the one that signs first, then those it has replaced until they expire. */
  readonly ca: string;
  /** Key of the first authority. */
  readonly caKey: string;
}

/** What certificates are made of. Times are ms. */
export interface BundleTemplate {
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[];
  readonly validity: number;
  readonly caValidity: number;
  /** A certificate is replaced when it is valid for less than this. */
  readonly renewBefore: number;
}

const blocks = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\r?\n?/g;

/** Returns the certificates of a PEM text. */
export const certificatesIn = (text: string): string[] => text.match(blocks) ?? [];

const expires = (cert: string): number => Date.parse(new X509Certificate(cert).validTo);

const matches = (cert: string, key: string): boolean =>
  new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));

/** True when the authority can sign for another whole validity. */
function authorityHolds({ ca, caKey }: CertificateBundle, now: number, template: BundleTemplate): boolean {
  const [first] = certificatesIn(ca);
  return (
    first !== undefined &&
    matches(first, caKey) &&
    expires(first) - now > Math.max(template.renewBefore, template.validity)
  );
}

const covers = (leaf: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host)) !== undefined;

/** True when the certificate is signed by the first authority, covers all hosts and need not be renewed. */
function leafHolds({ ca, cert, key }: CertificateBundle, now: number, template: BundleTemplate): boolean {
  const [first = ''] = certificatesIn(ca);
  const leaf = new X509Certificate(cert);
  return (
    matches(cert, key) &&
    leaf.verify(new X509Certificate(first).publicKey) &&
    Date.parse(leaf.validFrom) <= now &&
    Date.parse(leaf.validTo) - now > template.renewBefore &&
    template.hosts.every((host) => covers(leaf, host))
  );
}

function attempt(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false; // what is stored is no certificate
  }
}

/** Returns a bundle that holds at `now`: the stored one unchanged where it does, or with what has to be renewed. */
export function renewedBundle(
  stored: CertificateBundle | undefined,
  now: number,
  template: BundleTemplate,
): CertificateBundle {
  const sound = stored && attempt(() => authorityHolds(stored, now, template));
  if (sound && attempt(() => leafHolds(stored, now, template))) return stored;
  const authority = sound
    ? new Authority({ cert: certificatesIn(stored.ca)[0] ?? '', key: stored.caKey })
    : Authority.create('podtender-webhooks-ca', now, {
        notBefore: now - hour,
        notAfter: now + template.caValidity,
      });
  const earlier = certificatesIn(stored?.ca ?? '').filter((cert) => attempt(() => expires(cert) > now));
  const pair = authority.issue({
    subject: { commonName: template.hosts[0] ?? 'webhooks' },
    notBefore: now - hour,
    notAfter: now + template.validity,
    usages: ['server auth'],
    hosts: template.hosts,
  });
  const ca = sound ? stored.ca : [authority.cert, ...earlier].join('');
  return { ...pair, ca, caKey: authority.key };
}

/** Returns when a bundle has to be looked at next, ms since the epoch. */
export const renewalTime = ({ cert }: CertificateBundle, { renewBefore }: BundleTemplate): number =>
  expires(cert) - renewBefore;
