import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

let cached: readonly string[] | undefined;
let context: SecureContext | undefined;

/**
 * Returns the certificate authorities that this machine trusts, PEM: its own store (`SSL_CERT_FILE`, `SSL_CERT_DIR` or `/etc/ssl/certs`)
 * and `NODE_EXTRA_CA_CERTS`, as Go programs do. Node.js by default uses only its bundled authorities, which serve here as the fallback for
 * machines without a store. Read once, in about 60 ms.
 */
export function machineAuthorities(): string[] {
  if (!cached) {
    const own = getCACertificates('system');
    cached = [
      ...new Set([...(own.length > 0 ? own : getCACertificates('bundled')), ...getCACertificates('extra')]),
    ];
  }
  return [...cached];
}

/**
 * Returns a shared context that trusts {@link machineAuthorities}, for clients without a certificate; creating one takes as long as a
 * connection.
 */
export const machineTrust = (): SecureContext =>
  (context ??= createSecureContext({ ca: machineAuthorities() }));
