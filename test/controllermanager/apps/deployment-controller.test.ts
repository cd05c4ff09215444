import { afterEach, expect, test } from 'vitest';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import { replicasOf } from '../../../src/controllermanager/apps/deployment-rollout.ts';
import { revisionOf } from '../../../src/controllermanager/apps/deployment-sets.ts';
import type { Deployment, ReplicaSet } from '../../../src/controllermanager/workload/types.ts';
import { cluster, deployment, endAll, eventually, podsOf, running, template } from '../support.ts';

afterEach(endAll);

const key = { namespace: 'default', name: 'web' };
const get = (client: Client): Promise<Deployment> => client.get(kinds.Deployment, key);
const sets = (client: Client): Promise<readonly ReplicaSet[]> =>
  client.list(kinds.ReplicaSet, { namespace: 'default', labels: { app: 'web' } });
const complete = ({ metadata, spec, status }: Deployment): boolean =>
  status?.observedGeneration === metadata?.generation &&
  status?.updatedReplicas === spec?.replicas &&
  status?.replicas === spec?.replicas &&
  status?.availableReplicas === spec?.replicas;
const progressing = ({ status }: Deployment): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
const patch = (client: Client, body: object): Promise<Deployment> =>
  client.patch(kinds.Deployment, deployment('web'), rawPatch('merge', body));

test('a Deployment gets its pods; a rolling update, an undo and a scale keep to their limits', async () => {
  const { client } = await cluster();
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  await client.create(kinds.Deployment, deployment('web', { strategy }));
  const first = await eventually(() => get(client), complete);
  await eventually(
    () => get(client),
    (one) => progressing(one) === 'NewReplicaSetAvailable',
  );
  expect(first.metadata?.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '1' });
  expect(first.status?.conditions?.map(({ type, status }) => `${type}=${status}`).sort()).toEqual([
    'Available=True',
    'Progressing=True',
  ]);

  const most: number[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { object } of client.watch(kinds.Deployment, { signal: stop.signal }))
      most.push(object.status?.replicas ?? 0);
  })().catch(() => undefined);
  await patch(client, { spec: { template: template('web', 'image:2') } });
  await eventually(() => get(client), complete);
  stop.abort();
  await watching;
  expect(Math.max(...most)).toBeLessThanOrEqual(4);
  const after = await sets(client);
  expect(after.map((set) => [revisionOf(set), replicasOf(set)]).sort()).toEqual([
    [1, 0],
    [2, 3],
  ]);
  expect((await podsOf(client, 'web')).every((pod) => pod.spec?.containers[0]?.image === 'image:2')).toBe(
    true,
  );

  // what `kubectl rollout undo` sends
  await patch(client, { spec: { template: template('web', 'image:1') } });
  await eventually(
    () => get(client),
    (one) => complete(one) && revisionOf(one) === 3,
  );
  const undone = (await sets(client)).find((set) => replicasOf(set) === 3);
  expect(undone?.metadata?.annotations).toMatchObject({ 'deployment.kubernetes.io/revision-history': '1' });

  await patch(client, { spec: { replicas: 5 } });
  await eventually(
    () => get(client),
    (one) => complete(one) && one.status?.replicas === 5,
  );
  expect(await sets(client)).toHaveLength(2);
});

test('a paused Deployment scales and does not roll; resumed it does', async () => {
  const { client } = await cluster();
  await client.create(kinds.Deployment, deployment('web', { replicas: 2 }));
  await eventually(() => get(client), complete);
  await patch(client, { spec: { paused: true, replicas: 3, template: template('web', 'image:2') } });
  await eventually(
    () => get(client),
    (one) => one.status?.availableReplicas === 3,
  );
  expect(progressing(await get(client))).toBe('DeploymentPaused');
  expect(await sets(client)).toHaveLength(1);
  await patch(client, { spec: { paused: false } });
  await eventually(() => get(client), complete);
  expect(await sets(client)).toHaveLength(2);
});

test('Recreate: no new pod before the last old one is gone', async () => {
  const { client } = await cluster();
  await client.create(kinds.Deployment, deployment('web', { strategy: { type: 'Recreate' } }));
  await eventually(() => get(client), complete);
  const images = new Map<string, string>();
  let mixed = false;
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of client.watch(kinds.Pod, { signal: stop.signal })) {
      if (type === 'DELETED') images.delete(object.metadata?.name ?? '');
      else images.set(object.metadata?.name ?? '', object.spec?.containers[0]?.image ?? '');
      mixed ||= new Set(images.values()).size > 1;
    }
  })().catch(() => undefined);
  await patch(client, { spec: { template: template('web', 'image:2') } });
  await eventually(() => get(client), complete);
  stop.abort();
  await watching;
  expect(mixed).toBe(false);
});

test('a rollout that makes no progress says so, and the history is limited', async () => {
  const world = await cluster();
  const { client } = world;
  await client.create(kinds.Deployment, deployment('web', { replicas: 1, revisionHistoryLimit: 1 }));
  await eventually(() => get(client), complete);
  for (const image of ['image:2', 'image:3', 'image:4']) {
    await patch(client, { spec: { template: template('web', image) } });
    await eventually(() => get(client), complete);
  }
  await eventually(
    () => sets(client),
    (all) => all.length === 2,
  );
  world.behaviour = { start: () => ({ ...running(), conditions: [{ type: 'Ready', status: 'False' }] }) };
  await patch(client, { spec: { progressDeadlineSeconds: 1, template: template('web', 'never') } });
  const stuck = await eventually(
    () => get(client),
    (one) => progressing(one) === 'ProgressDeadlineExceeded',
  );
  expect(stuck.status?.conditions?.find(({ type }) => type === 'Progressing')).toMatchObject({
    status: 'False',
  });
  expect(stuck.status).toMatchObject({ unavailableReplicas: 1, availableReplicas: 1 });
});

test('pods and ReplicaSets go with the Deployment', async () => {
  const { client } = await cluster();
  await client.create(kinds.Deployment, deployment('web'));
  await eventually(() => get(client), complete);
  await client.delete(kinds.Deployment, key, { propagationPolicy: 'Foreground' });
  await eventually(
    () => podsOf(client, 'web'),
    (pods) => pods.length === 0,
  );
  await eventually(
    () => sets(client),
    (all) => all.length === 0,
  );
});
