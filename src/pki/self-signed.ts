import { type KeyPair, Authority, hour, year } from './certificates.ts';

/** A serving certificate from an authority that nobody else knows, good for a year. */
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
