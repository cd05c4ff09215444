import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { createApiClient } from '../../../src/api/http-client.ts';
import { namespaceResource, nodeResource, podResource, type Resource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { whyNoContainerd } from '../../support/containerd.ts';
import { ownAddress } from '../../support/own-address.ts';
import { users } from './api-server.ts';
import { sharedBed, specs, stopSharedBed } from './kubelet-bed.ts';
import { CasePlay } from './kubelet-case.ts';
import type { Player, TranscriptCase } from './transcript.ts';
import { startTap, type Tap } from './upstream.ts';

/** An API server whose pods of namespace `kp` are the bed's, by way of a tap. */
interface Front {
  readonly server: EmbeddedApiServer;
  readonly tap: Tap;
  readonly host: string;
}

/** The address and port that the recorder's node had. */
const [recordedHost, recordedPort] = ['198.51.100.7', ':10261'];
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

async function makeFront(): Promise<Front> {
  const bed = await sharedBed();
  const host = ownAddress(); // what is proxied to must not be loopback
  const server = await EmbeddedApiServer.start({
    tokens: users,
    controllers: false,
    minimalScheduler: false,
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

/** Whether the node says what a kubelet of 1.36 says of itself: so it was recorded in the cases that are named so. */
async function declare({ server }: Front, declared: boolean): Promise<void> {
  const admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
  const status = { declaredFeatures: declared ? ['ExtendWebSocketsToKubelet'] : null };
  await admin.patch(
    nodeResource,
    { name: 'node-p' },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
  await admin.close();
}

/** The case as it would have been recorded on this machine. */
const atHome = (one: TranscriptCase, { host, tap }: Front): TranscriptCase =>
  JSON.parse(
    JSON.stringify(one).replaceAll(recordedHost, host).replaceAll(recordedPort, `:${tap.port}`),
  ) as TranscriptCase;

let front: Promise<Front> | undefined;

/** Plays what kube-apiserver asks of kubelets, and what it makes of their answers, against the embedded server before a real kubelet API. */
export const apiServerToKubeletPlayer: Player = {
  families: new Set(['apiserver-to-kubelet']),
  async play(one) {
    const why = whyNoContainerd();
    if (why !== undefined) throw new Error(`cannot be played here: ${why}`);
    front ??= makeFront();
    const made = await front;
    await declare(made, one.id.includes('/declared-'));
    made.tap.taken();
    const { port } = made.server;
    const played = { port, reviews: [], podUids: new Map(), upstream: () => made.tap.taken() };
    return new CasePlay(played).play(atHome(one, made));
  },
  async close() {
    const made = await front?.catch(() => undefined);
    front = undefined;
    await made?.tap.close();
    await made?.server.stop();
    await stopSharedBed();
  },
};
