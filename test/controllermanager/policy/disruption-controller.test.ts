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
