import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { seconds } from '../../../src/apimachinery/times.ts';
import { fakeClient } from '../../../src/controller/fake/index.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client, KubeObject } from '../../../src/controller/types.ts';
import type { EventRecorder } from '../../../src/kube/events.ts';
import type { Node, Pod } from '../../../src/controllermanager/workload/types.ts';

export const signal = new AbortController().signal;
export const startMs = Date.UTC(2026, 0, 1);

export const node = (
  name: string,
  { labels = {}, ready = 'True', taints = [] as NonNullable<Node['spec']>['taints'] } = {},
): Node & KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: `uid-${name}`, labels, creationTimestamp: seconds(startMs) },
  spec: { ...(taints && { taints }) },
  status: {
    conditions: ready === '' ? [] : [{ type: 'Ready', status: ready, lastHeartbeatTime: seconds(startMs) }],
  },
});

export const pod = (name: string, nodeName: string, spec: object = {}, phase = 'Running'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name, uid: `uid-${name}`, creationTimestamp: seconds(startMs) },
  spec: { containers: [{ name: 'main', image: 'i' }], ...(nodeName !== '' && { nodeName }), ...spec },
  status: {
    phase,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: seconds(startMs) }],
  },
});

/** Objects in memory, a fake clock, and the Events as `reason message`. */
export function nodeWorld(objects: readonly KubeObject[]) {
  const clock = new FakeClock(startMs);
  const client: Client = fakeClient({ objects, clock });
  const reports: string[] = [];
  const events: EventRecorder = {
    event: (object, _type, reason, message) =>
      reports.push(`${object.kind ?? ''} ${object.metadata?.name ?? ''}: ${reason}: ${message}`),
  };
  const readNode = (name: string): Promise<Node> => client.get(kinds.Node, { name });
  return {
    deps: { client, reader: client, clock, events, logger: silentLogger },
    clock,
    client,
    reports,
    readNode,
  };
}

/** Posts a heartbeat of a node's Ready condition. */
export async function beat(client: Client, name: string, now: number, status = 'True'): Promise<void> {
  const current = await client.get(kinds.Node, { name });
  const conditions = [{ type: 'Ready', status, lastHeartbeatTime: seconds(now) }];
  await client.status.update(kinds.Node, { ...current, status: { conditions } });
}
