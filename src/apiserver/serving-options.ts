import type { KeyPair } from '../pki/certificates.ts';
import type { RequestHeaderOptions } from './authentication/request-headers.ts';
import type { ServiceAccountKeys } from './authentication/token-signer.ts';

/** Certificates, keys and modes that other programs bring along, as they do with kube-apiserver's flags. */
export interface ServingOptions {
  /** Certificate and key of the server, PEM. Default: one that the server's own authority signs. */
  readonly servingCertificate?: KeyPair;
  /** Host names and addresses for the certificate that the server's own authority signs, besides those of this machine. */
  readonly servingHosts?: readonly string[];
  /** Whether clients may choose HTTP/2, with many watches on one connection. Default: true. */
  readonly http2?: boolean;
  /** Authorities whose client certificates are accepted besides those of the server's own, PEM. */
  readonly clientAuthorities?: readonly string[];
  /** Trusts a front proxy's headers; absent: they are ignored. */
  readonly requestHeaders?: RequestHeaderOptions;
  /** Keys and issuer of service account tokens. Default: a key of the server's own. */
  readonly serviceAccounts?: ServiceAccountKeys;
  /** Who may do what. Default: `RBAC`, with the Node authorizer. */
  readonly authorization?: 'RBAC' | 'AlwaysAllow' | 'AlwaysDeny';
}
