import { isIP } from 'node:net';
import { tableOf } from '../../base/own.ts';
import { dialError } from '../../go/dial-error.ts';
import type { HostPort } from '../../base/host-port.ts';

const unknownAuthority = 'x509: certificate signed by unknown authority';
const outOfTime = 'x509: certificate has expired or is not yet valid';

/** Go's words for Node's codes of certificates that cannot be verified. */
const certificateFaults: Readonly<Record<string, string>> = tableOf({
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  CERT_HAS_EXPIRED: outOfTime,
  CERT_NOT_YET_VALID: outOfTime,
});

interface NameFault extends NodeJS.ErrnoException {
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** Returns Go's words for a certificate of other names than the one that was called. */
function nameFault({ host = '', cert }: NameFault): string {
  const names = (cert?.subjectaltname ?? '').split(', ').filter(Boolean);
  const of = (prefix: string): readonly string[] =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  const valid = isIP(host) === 0 ? of('DNS:') : of('IP Address:');
  if (isIP(host) !== 0 && valid.length === 0)
    return `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
  if (valid.length === 0) return `x509: certificate is not valid for any names, but wanted to match ${host}`;
  return `x509: certificate is valid for ${valid.join(', ')}, not ${host}`;
}

/** Returns why a connection to a webhook failed, in Go's words. @param at the address that was dialled */
export function connectionFault(reason: unknown, at: HostPort): string {
  const fault = reason as NameFault;
  const { code = '' } = fault;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `tls: failed to verify certificate: ${nameFault(fault)}`;
  const certificate = certificateFaults[code];
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`;
  if (code.startsWith('ERR_SSL_WRONG_VERSION')) return 'http: server gave HTTP response to HTTPS client';
  if (fault.syscall === 'connect' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return dialError(reason, at);
  return code === 'ECONNRESET' ? 'EOF' : fault.message;
}
