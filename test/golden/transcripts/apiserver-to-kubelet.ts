import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { nodeResource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { whyNoContainerd } from '../../support/containerd.ts';
import { type Front, makeFront, stopFront } from './front.ts';
import { stopSharedBed } from './kubelet-bed.ts';
import { CasePlay } from './kubelet-case.ts';
import type { Player, TranscriptCase } from './transcript.ts';

/** The address and port that the recorder's node had. */
const [recordedHost, recordedPort] = ['198.51.100.7', ':10261'];
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
    if (made) await stopFront(made);
    await stopSharedBed();
  },
};
