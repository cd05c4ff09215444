import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { leaseResource, nodeResource, podResource } from '../../../src/api/resources.ts';
import { runNode } from '../../../src/app/run-node.ts';
import { nameOf, uidOf } from '../../../src/kube/names.ts';
import type { Lease, Node, Pod } from '../../../src/kube/types.ts';
import type { KubernetesProvider } from '../../../src/providers/kubernetes/index.ts';
import { Line } from '../../support/line.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

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

test('two nodes run their pods in one backing namespace, also pods of one name after each other', async () => {
  const provider = bed.provider({ nodeName: 'second' });
  const second = await runNode({ nodeName: 'second', provider, server: bed.here.server });
  try {
    await bed.create('moving');
    await runs('moving');
    const [first] = await bed.backing('moving');
    await bed.here.client.delete(
      podResource,
      { namespace: 'default', name: 'moving' },
      { gracePeriodSeconds: 0 },
    );
    await bed.create('moving', { nodeName: 'second' });
    await runs('moving');
    await eventually(async () => {
      const all = await bed.backing('moving');
      expect(all.map(({ metadata }) => metadata?.labels?.['podtender.io/node'])).toEqual(['second']);
      expect(nameOf(all[0]!)).not.toBe(nameOf(first!));
    });
    await bed.here.client.delete(podResource, { namespace: 'default', name: 'moving' });
    await eventually(async () => {
      expect(await bed.backing('moving')).toEqual([]);
    });
  } finally {
    await second.stop();
    await provider.close();
  }
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

test('an agent that is cut off loses the lease and acts no more; another one adopts its pods', async () => {
  const line = new Line();
  await line.open();
  const url = new URL(bed.there.server.url);
  line.mend(Number(url.port));
  url.port = String(line.port);
  const leaderElection = { leaseDurationSeconds: 3 };
  const connection = { server: url.href, ca: bed.there.server.ca, ...bed.there.server.admin };
  const first = await bed.startAgent({ leaderElection, identity: 'first', connection });
  await bed.create('adopted');
  await runs('adopted');
  const [backing] = await bed.backing('adopted');
  const holder = async (): Promise<string | undefined> =>
    (await bed.there.get<Lease>(leaseResource, backingNamespace, 'podtender-edge')).spec?.holderIdentity;
  expect(await holder()).toBe('first');

  line.cut();
  await expect(first.lead(new AbortController().signal)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(first.listPods()).rejects.toThrow(/another agent may lead this node/);
  await bed.stopAgent(); // as its program does then
  line.mend(Number(new URL(bed.there.server.url).port));
  await bed.startAgent({ leaderElection, identity: 'second' });
  expect(await holder()).toBe('second');
  await bed.create('next');
  await runs('next');
  const again = await runs('adopted');
  expect(again.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  expect((await bed.backing('adopted')).map(uidOf)).toEqual([uidOf(backing!)]);
  const node = await bed.here.client.get<Node>(nodeResource, { name: 'edge' });
  expect(node.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
  line.close();
}, 60_000);

test('without a lease an agent leads until it ends', async () => {
  const provider: KubernetesProvider = bed.provider({ nodeName: 'alone' });
  await provider.open();
  const end = new AbortController();
  const leading = provider.lead(end.signal);
  end.abort();
  await leading;
  await provider.close();
});
