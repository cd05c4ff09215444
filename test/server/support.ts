import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Authority, hour, type KeyPair } from '../../src/pki/certificates.ts';
import type { Pod } from '../../src/kube/types.ts';
import type { ServerHost } from '../../src/server/host.ts';
import { KubeletServer, type KubeletServerOptions } from '../../src/server/kubelet-server.ts';
import { alwaysAllow } from '../../src/server/access.ts';

export const ca: Authority = Authority.create('test-ca', Date.now());

/** A client certificate of `authority`. */
export const clientPair = (
  commonName: string,
  organizations: readonly string[] = [],
  authority: Authority = ca,
  notAfter = Date.now() + hour,
): KeyPair =>
  authority.issue({
    subject: { commonName, organizations },
    notBefore: Date.now() - 2 * hour,
    notAfter,
    usages: ['client auth'],
  });

export const webPod: Pod = {
  metadata: { name: 'web', namespace: 'ns', uid: 'uid-web' },
  spec: { containers: [{ name: 'c', image: 'busybox' }] },
  status: {
    containerStatuses: [
      {
        name: 'c',
        image: 'busybox',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: 'test://1',
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      },
    ],
  },
};

/** A host with one running pod, `ns/web`, container `c`. */
export const hostWith = (more: Partial<ServerHost> = {}): ServerHost => ({
  nodeName: 'node-a',
  pods: () => [webPod],
  podByName: (namespace, name) => (namespace === 'ns' && name === 'web' ? webPod : undefined),
  podStatus: () => undefined,
  runningPods: () =>
    Promise.resolve([
      {
        uid: 'uid-web',
        name: 'web',
        namespace: 'ns',
        containers: [{ id: 'test://1', name: 'c', state: 'running' as const, image: 'busybox' }],
        sandboxes: [],
      },
    ]),
  syncLoopFault: () => undefined,
  ...more,
});

export async function startServer(
  host: ServerHost,
  options: Partial<KubeletServerOptions> = {},
): Promise<KubeletServer> {
  const server = new KubeletServer({
    host,
    address: '127.0.0.1',
    port: 0,
    clientCa: ca.cert,
    authorizer: alwaysAllow,
    ...options,
  });
  await server.listen();
  return server;
}

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export const admin: KeyPair = clientPair('admin', ['system:masters']);

/** One request over a real socket. */
export function ask(
  server: KubeletServer,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port: server.port,
        path,
        rejectUnauthorized: false,
        agent: false,
        ...admin,
        ...options,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
