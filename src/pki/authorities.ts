import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

let known: readonly string[] | undefined;
let context: SecureContext | undefined;

/**
 * Whom this machine trusts, PEM: its own store (`SSL_CERT_FILE`, `SSL_CERT_DIR` or `/etc/ssl/certs`) and `NODE_EXTRA_CA_CERTS`, as Go's programs do. Node.js by itself looks at
 * the authorities alone that it brings along, which here only serve where the machine has none. Read once, in some 60 ms.
 */
export function machineAuthorities(): string[] {
  if (!known) {
    const own = getCACertificates('system');
    known = [
      ...new Set([...(own.length > 0 ? own : getCACertificates('bundled')), ...getCACertificates('extra')]),
    ];
  }
  return [...known];
}

/** What trusts {@link machineAuthorities}, for those who show no certificate: made once, since that takes as long as a connection. */
export const machineTrust = (): SecureContext =>
  (context ??= createSecureContext({ ca: machineAuthorities() }));
