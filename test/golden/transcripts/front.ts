import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { namespaceResource, nodeResource, podResource, type Resource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { ownAddress } from '../../support/own-address.ts';
import { users } from './api-server.ts';
import { sharedBed, specs } from './kubelet-bed.ts';
import { startTap, type Tap } from './upstream.ts';

/** An API server whose pods of namespace `kp` are the bed's, by way of a tap. */
export interface Front {
  readonly server: EmbeddedApiServer;
  readonly tap: Tap;
  readonly host: string;
}

const accounts: Resource = { ...podResource, resource: 'serviceaccounts', kind: 'ServiceAccount' };
const deadPort = 10_299;
const idle = { containers: [{ name: 'c', image: 'localhost/busybox:1' }] };

/** Pods that only the API server knows, and the node of each. */
const others: Readonly<Record<string, string>> = {
  nopod: 'node-p',
  dead: 'node-dead',
  noaddr: 'node-noaddr',
  nonode: 'node-zzz',
};

/** A new one, with the nodes and pods that the recorder had. */
export async function makeFront(): Promise<Front> {
  const bed = await sharedBed();
  const host = ownAddress(); // what is proxied to must not be loopback
  const server = await EmbeddedApiServer.start({
    tokens: users,
    controllers: false,
    minimalScheduler: false,
    http2: false, // requests are counted where HTTP/1 tells of them, and the recorded clients spoke either
  });
  const serving = server.servingCertificate('system:node:node-p', [host]);
  const tap = await startTap({ host, kubeletPort: bed.port, serving, client: bed.admin });
  const admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
  const node = (name: string, address: string | undefined, Port: number): Promise<Node> =>
    admin.create<Node>(nodeResource, {
      metadata: { name },
      status: {
        ...(address !== undefined && { addresses: [{ type: 'InternalIP', address }] }),
        daemonEndpoints: { kubeletEndpoint: { Port } },
      },
    });
  await node('node-p', host, tap.port);
  await node('node-dead', '127.0.0.1', deadPort);
  await node('node-noaddr', undefined, tap.port);
  await admin.create(namespaceResource, { metadata: { name: 'kp' } });
  await admin.create(accounts, { metadata: { name: 'default', namespace: 'kp' } });
  for (const [name, spec] of [
    ...Object.entries(specs),
    ...Object.keys(others).map((one) => [one, idle] as const),
  ]) {
    const nodeName = others[name] ?? 'node-p';
    const metadata = { name, namespace: 'kp' };
    await admin.create<Pod>(podResource, { metadata, spec: { ...spec, nodeName } } as Pod);
    const status = { phase: 'Running', podIP: host, podIPs: [{ ip: host }] };
    await admin.patch(
      podResource,
      { namespace: 'kp', name },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
  }
  await admin.close();
  return { server, tap, host };
}

/** Ends what {@link makeFront} made. */
export async function stopFront({ tap, server }: Front): Promise<void> {
  await tap.close();
  await server.stop();
}
