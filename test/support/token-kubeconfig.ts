import type { EmbeddedApiServer } from '../../src/apiserver/index.ts';

/** The text of a kubeconfig with a token. */
export const tokenKubeconfig = ({ url, ca }: Pick<EmbeddedApiServer, 'url' | 'ca'>, token: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
