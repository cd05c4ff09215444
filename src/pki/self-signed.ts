import { type KeyPair, Authority, hour, year } from './certificates.ts';

/** Creates a serving certificate, valid for a year, from a new authority that nothing trusts. */
export function selfSigned(nodeName: string, now: number): KeyPair {
  const authority = Authority.create(`${nodeName}-ca@${Math.floor(now / 1000)}`, now);
  const { cert, key } = authority.issue({
    subject: { commonName: `${nodeName}@${Math.floor(now / 1000)}` },
    notBefore: now - hour,
    notAfter: now + year,
    usages: ['server auth'],
    hosts: [nodeName],
  });
  return { cert: `${cert}${authority.cert}`, key };
}
