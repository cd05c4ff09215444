import { afterEach, expect, test } from 'vitest';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import type { StatefulSet } from '../../../src/controllermanager/workload/types.ts';
import { cluster, endAll, eventually, podsOf, template } from '../support.ts';

afterEach(endAll);

const set = (spec: Partial<NonNullable<StatefulSet['spec']>> = {}): StatefulSet => ({
  metadata: { namespace: 'default', name: 'db' },
  spec: {
    replicas: 3,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: template('db'),
    ...spec,
  },
});
const get = (client: Client): Promise<StatefulSet> =>
  client.get(kinds.StatefulSet, { namespace: 'default', name: 'db' });
const images = async (client: Client): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await podsOf(client, 'db')).map(({ metadata, spec }) => [
      metadata?.name ?? '',
      spec?.containers[0]?.image ?? '',
    ]),
  );
const patch = (client: Client, body: object): Promise<StatefulSet> =>
  client.patch(kinds.StatefulSet, set(), rawPatch('merge', body));

test('pods are created one after the other, rolled from the last to the partition, and deleted from the last', async () => {
  const { client } = await cluster();
  const order: string[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of client.watch(kinds.Pod, { signal: stop.signal }))
      if (type === 'ADDED') order.push(object.metadata?.name ?? '');
  })().catch(() => undefined);
  const claims = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  await client.create(kinds.StatefulSet, set({ volumeClaimTemplates: claims }));
  await eventually(
    () => get(client),
    ({ status }) => status?.availableReplicas === 3,
  );
  expect(order).toEqual(['db-0', 'db-1', 'db-2']);
  const found = await client.list(kinds.PersistentVolumeClaim, { namespace: 'default' });
  expect(found.map(({ metadata }) => metadata?.name)).toEqual(['data-db-0', 'data-db-1', 'data-db-2']);
  const update = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } };
  await patch(client, { spec: { ...update, template: template('db', 'image:2') } });
  await eventually(
    () => get(client),
    ({ status }) => status?.updatedReplicas === 2 && status.readyReplicas === 3,
  );
  expect(await images(client)).toEqual({ 'db-0': 'image:1', 'db-1': 'image:2', 'db-2': 'image:2' });
  expect(order.slice(3)).toEqual(['db-2', 'db-1']);
  await patch(client, { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
  const done = await eventually(
    () => get(client),
    ({ status }) => status?.updatedReplicas === 3 && status.currentRevision === status.updateRevision,
  );
  expect(done.status?.replicas).toBe(3);
  await patch(client, { spec: { replicas: 1 } });
  await eventually(
    () => images(client),
    (all) => Object.keys(all).join() === 'db-0',
  );
  expect(await client.list(kinds.PersistentVolumeClaim, { namespace: 'default' })).toHaveLength(3);
  stop.abort();
  await watching;
});
