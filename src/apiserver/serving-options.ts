import type { KeyPair } from '../pki/certificates.ts';
import type { RequestHeaderOptions } from './authentication/request-headers.ts';
import type { AuthorizationModeName } from './authorization/mode.ts';
import type { AuthorizationWebhook } from './authorization/webhook.ts';
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
  /** Who may do what: modes in the order in which they are asked, as kube-apiserver has them; `RBAC` alone comes with `Node`. Default: `RBAC`. */
  readonly authorization?: AuthorizationModeName | readonly AuthorizationModeName[];
  /** Policies of the mode `ABAC`: a JSON object a line, as in kube-apiserver's policy file; required by the mode. */
  readonly abacPolicies?: { readonly text: string; readonly file: string };
  /** The service that the mode `Webhook` asks; required by the mode. */
  readonly authorizationWebhook?: AuthorizationWebhook;
}
