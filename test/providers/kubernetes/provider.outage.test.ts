import { afterAll, beforeAll, expect, test } from 'vitest';
import { Informer } from '../../../src/api/cache/informer.ts';
import { nodeResource, podResource } from '../../../src/api/resources.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { nameOf } from '../../../src/kube/names.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { advanceSlowly, whileAdvancing } from '../../support/advancing.ts';
import { Line } from '../../support/line.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

const clock = new FakeClock(Date.now());
const line = new Line();
let bed: TwoClusters;
let portThere = 0;
beforeAll(async () => {
  bed = await whileAdvancing(clock, twoClusters({ hereClock: clock }));
  const url = new URL(bed.there.server.url);
  portThere = Number(url.port);
  await line.open();
  line.mend(portThere);
  url.port = String(line.port);
  const connection = { server: url.href, ca: bed.there.server.ca, ...bed.there.server.admin };
  await whileAdvancing(clock, bed.startAgent({ connection }));
}, 60_000);
afterAll(async () => {
  await whileAdvancing(clock, bed.stop());
  line.close();
}, 30_000);

async function inTime<T>(check: () => Promise<T>): Promise<T> {
  for (let second = 0; ; second++) {
    try {
      return await check();
    } catch (reason) {
      if (second >= 300) throw reason;
      await advanceSlowly(clock, 1000);
    }
  }
}

const nodeIs = (status: string): Promise<Node> =>
  inTime(async () => {
    const node = await bed.here.client.get<Node>(nodeResource, { name: 'edge' });
    expect(node.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe(status);
    return node;
  });

const runs = (name: string): Promise<Pod> =>
  inTime(async () => {
    const pod = await bed.pod(name);
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return pod;
  });

const backingOf = async (name: string): Promise<Pod> => {
  const [pod] = await bed.backing(name);
  if (!pod) throw new Error(`pod ${name} has no backing pod`);
  return pod;
};

test('a backing cluster that is away for an hour changes nothing here but the condition of the node', async () => {
  const names = ['steady', 'doomed', 'leaving'];
  for (const name of names) await bed.create(name);
  const before = new Map<string, Pod>();
  for (const name of names) before.set(name, await runs(name));
  const steady = await backingOf('steady');
  const doomed = await backingOf('doomed');
  const leaving = await backingOf('leaving');

  /** What changes in the pods here from now on. */
  const changes: string[] = [];
  const stop = new AbortController();
  const pods = new Informer<Pod>({ client: bed.here.client, clock: systemClock }, podResource, {});
  const handler = pods.addHandler({
    updated: (_old, pod) => {
      changes.push(`${nameOf(pod)} ${JSON.stringify(pod.status)}`);
    },
    deleted: (pod) => {
      changes.push(`${nameOf(pod)} is gone`);
    },
  });
  const watching = pods.run(stop.signal).catch(() => undefined);
  await handler.waitSynced(stop.signal);

  line.cut();
  const { status } = await nodeIs('False');
  expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain('backing cluster');
  await advanceSlowly(clock, 1_800_000, 2000);
  expect(changes).toEqual([]);
  // users and others go on meanwhile
  await bed.there.client.delete(podResource, { namespace: backingNamespace, name: nameOf(doomed) });
  await bed.here.client.delete(podResource, { namespace: 'default', name: 'leaving' });
  await bed.create('late');
  await advanceSlowly(clock, 1_800_000, 2000);
  const news = changes.filter((change) => !/^(leaving|late) /.test(change));
  expect(news).toEqual([]);
  expect((await bed.pod('leaving')).status?.phase).toBe('Running');
  expect((await bed.pod('late')).status?.phase).toBe('Pending');
  expect((await backingOf('leaving')).metadata?.deletionTimestamp).toBeUndefined();
  await nodeIs('False');

  line.mend(portThere);
  await nodeIs('True');
  await runs('late');
  await inTime(async () => {
    await expect(bed.pod('leaving')).rejects.toMatchObject({ code: 'not_found' });
    expect(await bed.backing('leaving')).toEqual([]);
    expect((await bed.pod('doomed')).status).toMatchObject({ phase: 'Failed', reason: 'BackingPodDeleted' });
  });
  expect((await bed.pod('steady')).status?.containerStatuses).toEqual(
    before.get('steady')?.status?.containerStatuses,
  );
  const uids = (await bed.backing('steady')).map(({ metadata }) => metadata?.uid);
  expect(uids).toEqual([steady.metadata?.uid]);
  expect(await bed.backing('late')).toHaveLength(1);
  expect(changes.filter((change) => change.startsWith('steady '))).toEqual([]);
  expect(leaving.metadata?.uid).toBeDefined();
  stop.abort();
  await watching;
}, 240_000);
