import { stringify } from 'yaml';
import type { ApiConnection } from '../api/rest/connection.ts';
import { AgentError } from '../base/errors.ts';

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

/**
 * Returns a kubeconfig with one cluster and one user. It contains credentials: write it with mode 0600.
 *
 * @throws {AgentError} `failed_precondition` for credentials that change, such as those of an exec plug-in
 */
export function kubeconfigOf({
  server,
  ca,
  cert,
  key,
  token,
  credentials,
  tlsServerName,
  skipTlsVerify,
  namespace,
}: ApiConnection): string {
  if (credentials)
    throw new AgentError(
      'failed_precondition',
      'the kubeconfig of this cluster has credentials that change: use that file itself',
    );
  const [name, user] = ['envtest', 'admin'];
  const cluster = {
    server,
    ...(ca !== undefined && { 'certificate-authority-data': base64(ca) }),
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    ...(skipTlsVerify === true && { 'insecure-skip-tls-verify': true }),
  };
  const own = {
    ...(cert !== undefined && { 'client-certificate-data': base64(cert) }),
    ...(key !== undefined && { 'client-key-data': base64(key) }),
    ...(token !== undefined && { token }),
  };
  const context = { cluster: name, user, ...(namespace !== undefined && { namespace }) };
  return stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster }],
    users: [{ name: user, user: own }],
    contexts: [{ name, context }],
  });
}
