import { afterEach, expect, test } from 'vitest';
import { kinds } from '../../../src/controller/kinds.ts';
import { cluster, deployment, endAll, eventually, podsOf } from '../support.ts';

afterEach(endAll);

test('evictions are granted as far as the budget allows', async () => {
  const world = await cluster();
  const { client } = world;
  await client.create(kinds.Deployment, deployment('web'));
  const budget = {
    metadata: { namespace: 'default', name: 'web' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
  };
  await client.create(kinds.PodDisruptionBudget, budget);
  const get = () => client.get(kinds.PodDisruptionBudget, budget.metadata);
  const first = await eventually(get, ({ status }) => status?.disruptionsAllowed === 1);
  expect(first.status).toMatchObject({ currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 });
  // the replacement does not become ready
  world.behaviour = { start: () => undefined };
  const [one, other] = await podsOf(client, 'web');
  await client.subResource('eviction').create(kinds.Pod, one ?? {}, {});
  await eventually(get, ({ status }) => status?.disruptionsAllowed === 0 && status.currentHealthy === 2);
  await expect(client.subResource('eviction').create(kinds.Pod, other ?? {}, {})).rejects.toMatchObject({
    status: 429,
  });
});

const guard = (name: string, spec: { minAvailable?: number; maxUnavailable?: number }) => ({
  metadata: { namespace: 'default', name },
  spec: { selector: { matchLabels: { app: name } }, ...spec },
});

test('of a Deployment its own size counts, not those of its ReplicaSets', async () => {
  const world = await cluster();
  const { client } = world;
  await client.create(kinds.Deployment, deployment('web', { replicas: 2 }));
  const budget = guard('web', { maxUnavailable: 1 });
  await client.create(kinds.PodDisruptionBudget, budget);
  const get = () => client.get(kinds.PodDisruptionBudget, budget.metadata);
  await eventually(get, ({ status }) => status?.disruptionsAllowed === 1);
  // a roll-out that does not go on: pods of two ReplicaSets
  world.behaviour = { start: () => undefined };
  const spec = { template: { spec: { containers: [{ name: 'main', image: 'image:2' }] } } };
  await client.patch(kinds.Deployment, deployment('web'), { type: 'merge', data: () => ({ spec }) });
  await eventually(
    () => podsOf(client, 'web'),
    (pods) => pods.length === 3,
  );
  const { status } = await eventually(get, (one) => one.status?.disruptionsAllowed === 1);
  expect(status).toMatchObject({ expectedPods: 2, desiredHealthy: 1, currentHealthy: 2 });
});

test('pods without a controller, and controllers without a size', async () => {
  const { client } = await cluster();
  const pod = (name: string, ownerReferences?: object[]): object => ({
    metadata: {
      namespace: 'default',
      name,
      labels: { app: name },
      ...(ownerReferences && { ownerReferences }),
    },
    spec: { containers: [{ name: 'main', image: 'image:1' }] },
  });
  const map = await client.create(kinds.ConfigMap, { metadata: { namespace: 'default', name: 'map' } });
  const owner = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'map',
    uid: map.metadata?.uid,
    controller: true,
  };
  await client.create(kinds.Pod, pod('alone'));
  await client.create(kinds.Pod, pod('owned', [owner]));
  for (const name of ['alone', 'owned'])
    await client.create(kinds.PodDisruptionBudget, guard(name, { maxUnavailable: 1 }));
  const read = (name: string) => client.get(kinds.PodDisruptionBudget, { namespace: 'default', name });
  const alone = await eventually(
    () => read('alone'),
    ({ status }) => status?.observedGeneration === 1 && status.currentHealthy === 1,
  );
  expect(alone.status).toMatchObject({ disruptionsAllowed: 0, expectedPods: 0 });
  const owned = await eventually(
    () => read('owned'),
    ({ status }) => status?.conditions?.[0]?.reason === 'SyncFailed',
  );
  expect(owned.status?.conditions?.[0]?.message).toBe('configmaps does not implement the scale subresource');
  const events = await eventually(
    () => client.list(kinds.Event, { namespace: 'default' }),
    (all) => all.some(({ reason }) => reason === 'UnmanagedPods'),
  );
  expect(events.map(({ reason }) => reason)).toContain('CalculateExpectedPodCountFailed');
});
