import { afterEach, expect, test } from 'vitest';
import { kinds } from '../../../src/controller/kinds.ts';
import { cluster, deployment, endAll, eventually, podsOf } from '../support.ts';

afterEach(endAll);

test('conditions taint a node, and a NoExecute taint evicts the pods that do not tolerate it', async () => {
  const { client } = await cluster();
  const getNode = () => client.get(kinds.Node, { name: 'n1' });
  await client.create(kinds.Deployment, deployment('web', { replicas: 2 }));
  const running = await eventually(
    () => podsOf(client, 'web'),
    (pods) => pods.length === 2 && pods.every(({ status }) => status?.phase === 'Running'),
  );
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'DiskPressure', status: 'True' },
  ];
  await client.status.update(kinds.Node, { ...(await getNode()), status: { conditions } });
  const pressed = await eventually(getNode, ({ spec }) => (spec?.taints ?? []).length > 0);
  expect(pressed.spec?.taints).toMatchObject([
    { key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' },
  ]);
  const taints = [...(pressed.spec?.taints ?? []), { key: 'maintenance', effect: 'NoExecute' }];
  await client.patch(kinds.Node, pressed, { type: 'merge', data: () => ({ spec: { taints } }) });
  const uids = new Set(running.map(({ metadata }) => metadata?.uid));
  const fresh = await eventually(
    () => podsOf(client, 'web'),
    (pods) => pods.length === 2 && !pods.some(({ metadata }) => uids.has(metadata?.uid)),
  );
  expect(fresh.map(({ spec }) => spec?.nodeName ?? '')).toEqual(['', '']);
  const events = await eventually(
    () => client.list(kinds.Event, { namespace: 'default' }),
    (all) => all.filter(({ reason }) => reason === 'TaintManagerEviction').length === 2,
  );
  expect(events.map(({ message }) => message)).toContain(
    `Marking for deletion Pod default/${running[0]?.metadata?.name ?? ''}`,
  );
});
