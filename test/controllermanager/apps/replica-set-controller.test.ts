import { afterEach, expect, test } from 'vitest';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import type { ReplicaSet } from '../../../src/controllermanager/workload/types.ts';
import { cluster, endAll, eventually, podsOf, template } from '../support.ts';

afterEach(endAll);

const set = (replicas: number): ReplicaSet => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template('web') },
});
const get = (client: Client): Promise<ReplicaSet> =>
  client.get(kinds.ReplicaSet, { namespace: 'default', name: 'web' });

test('a ReplicaSet adopts matching pods, replaces lost ones and releases those whose labels change', async () => {
  const { client } = await cluster();
  const { spec, metadata } = template('web');
  await client.create(kinds.Pod, {
    metadata: { ...metadata, namespace: 'default', name: 'orphan' },
    ...(spec && { spec }),
  });
  await client.create(kinds.ReplicaSet, set(2));
  await eventually(
    () => get(client),
    ({ status }) => status?.availableReplicas === 2,
  );
  const pods = await podsOf(client, 'web');
  expect(pods).toHaveLength(2);
  const orphan = pods.find((pod) => pod.metadata?.name === 'orphan');
  expect(orphan?.metadata?.ownerReferences).toMatchObject([
    { kind: 'ReplicaSet', name: 'web', controller: true },
  ]);
  await client.patch(kinds.Pod, orphan ?? {}, rawPatch('merge', { metadata: { labels: { app: 'free' } } }));
  await eventually(
    () => podsOf(client, 'web'),
    (all) => all.length === 2,
  );
  await eventually(
    () => podsOf(client, 'free'),
    ([pod]) => pod !== undefined && pod.metadata?.ownerReferences === undefined,
  );
  const [victim] = await podsOf(client, 'web');
  await client.delete(kinds.Pod, victim ?? {});
  await eventually(
    () => podsOf(client, 'web'),
    (all) => all.length === 2 && all.every(({ metadata }) => metadata?.uid !== victim?.metadata?.uid),
  );
});

test('scaled down, the cheapest pods go; what cannot be created is in the conditions', async () => {
  const { client } = await cluster();
  await client.create(kinds.ReplicaSet, set(3));
  await eventually(
    () => get(client),
    ({ status }) => status?.availableReplicas === 3,
  );
  const [, dear] = await podsOf(client, 'web');
  const cost = { metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '10' } } };
  await client.patch(kinds.Pod, dear ?? {}, rawPatch('merge', cost));
  await client.patch(kinds.ReplicaSet, set(1), rawPatch('merge', { spec: { replicas: 1 } }));
  const [left] = await eventually(
    () => podsOf(client, 'web'),
    (all) => all.length === 1,
  );
  expect(left?.metadata?.name).toBe(dear?.metadata?.name);

  const quota = { metadata: { namespace: 'default', name: 'q' }, spec: { hard: { pods: '1' } } };
  await client.create(kinds.ResourceQuota, quota);
  await eventually(
    () => client.get(kinds.ResourceQuota, quota.metadata),
    ({ status }) => status?.used?.['pods'] === '1',
  );
  await client.patch(kinds.ReplicaSet, set(2), rawPatch('merge', { spec: { replicas: 2 } }));
  const failed = await eventually(
    () => get(client),
    ({ status }) => status?.conditions !== undefined,
  );
  expect(failed.status?.conditions).toMatchObject([
    { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' },
  ]);
  await client.delete(kinds.ResourceQuota, quota.metadata);
  await eventually(
    () => get(client),
    ({ status }) => status?.availableReplicas === 2,
  );
  await eventually(
    () => get(client),
    ({ status }) => status?.conditions === undefined,
  );
});

test('a ReplicationController keeps its pods too', async () => {
  const { client } = await cluster();
  await client.create(kinds.ReplicationController, {
    metadata: { namespace: 'default', name: 'rc' },
    spec: { replicas: 2, selector: { app: 'rc' }, template: template('rc') },
  });
  await eventually(
    () => client.get(kinds.ReplicationController, { namespace: 'default', name: 'rc' }),
    ({ status }) => status?.availableReplicas === 2,
  );
});
