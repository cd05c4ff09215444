import { stringify } from 'yaml';
import type { KeyPair } from '../pki/certificates.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Returns a kubeconfig file with one cluster and one user, certificates included. It contains a private key: write it with mode 0600. */
export function kubeconfigText(at: {
  readonly server: string;
  readonly ca: string;
  readonly user: KeyPair;
  readonly namespace: string;
}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'podtender', cluster: { server: at.server, 'certificate-authority-data': base64(at.ca) } },
    ],
    users: [
      {
        name: 'podtender',
        user: { 'client-certificate-data': base64(at.user.cert), 'client-key-data': base64(at.user.key) },
      },
    ],
    contexts: [
      { name: 'podtender', context: { cluster: 'podtender', user: 'podtender', namespace: at.namespace } },
    ],
    'current-context': 'podtender',
  });
}
