import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { nodeResource } from '../../../src/api/resources.ts';
import { uidOf } from '../../../src/kube/names.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

let bed: TwoClusters;
beforeAll(async () => {
  bed = await twoClusters();
  await bed.startAgent();
}, 30_000);
afterAll(async () => {
  await bed.stop();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 25_000, interval: 100 });

const runs = (name: string): Promise<Pod> =>
  eventually(async () => {
    const pod = await bed.pod(name);
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return pod;
  });

test('a node sees and touches no pods of another node or cluster', async () => {
  const pod = await bed.create('own');
  await runs('own');
  for (const settings of [{ nodeName: 'other' }, { clusterName: 'other' }]) {
    const other = bed.provider(settings);
    expect(await other.listPods()).toEqual([]);
    const ref = { uid: uidOf(pod), name: 'own', namespace: 'default' };
    await other.deletePod(ref, undefined, new AbortController().signal);
    await other.close();
  }
  expect(await bed.backing('own')).toHaveLength(1);
});

test('of two agents of one node the second waits until the first gives the lease up', async () => {
  const [first, second] = ['a', 'b'].map((identity) =>
    bed.provider({ nodeName: 'shared', leaderElection: { leaseDurationSeconds: 3 }, identity }),
  );
  await first!.open();
  let leads = false;
  const opening = second!.open().then(() => {
    leads = true;
  });
  await first!.listPods();
  expect(leads).toBe(false);
  await first!.close();
  await opening;
  expect(await second!.listPods()).toEqual([]);
  await second!.close();
});

test('a backing cluster that does not answer changes nothing but the condition of the node', async () => {
  await bed.create('steady');
  const before = await runs('steady');
  await bed.there.server.stop();
  await eventually(async () => {
    const node = await bed.here.client.get<Node>(nodeResource, { name: 'edge' });
    expect(node.status?.conditions?.find(({ type }) => type === 'Ready')?.status).not.toBe('True');
  });
  const { status } = await bed.pod('steady');
  expect(status?.phase).toBe('Running');
  expect(status?.containerStatuses?.[0]).toMatchObject({
    containerID: before.status?.containerStatuses?.[0]?.containerID,
    restartCount: 0,
    state: { running: {} },
  });
});
