import { afterEach, expect, test } from 'vitest';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import type { DaemonSet } from '../../../src/controllermanager/workload/types.ts';
import { cluster, endAll, eventually, podsOf, running, template } from '../support.ts';

afterEach(endAll);

const daemonSet = (spec: Partial<NonNullable<DaemonSet['spec']>> = {}): DaemonSet => ({
  metadata: { namespace: 'default', name: 'log' },
  spec: { selector: { matchLabels: { app: 'log' } }, template: template('log'), ...spec },
});
const get = (client: Client): Promise<DaemonSet> =>
  client.get(kinds.DaemonSet, { namespace: 'default', name: 'log' });
const addNode = (client: Client, name: string, spec: object = {}): Promise<unknown> =>
  client.create(kinds.Node, {
    metadata: { name },
    spec,
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
const nodesOf = async (client: Client): Promise<string[]> =>
  (await podsOf(client, 'log')).map(({ spec }) => spec?.nodeName ?? '').sort();

test('each node gets a pod, new nodes too, and a tainted one loses its', async () => {
  const { client } = await cluster();
  await addNode(client, 'n2');
  await addNode(client, 'n3', { unschedulable: true });
  await client.create(kinds.DaemonSet, daemonSet());
  await eventually(
    () => get(client),
    ({ status }) => status?.numberAvailable === 3 && status.updatedNumberScheduled === 3,
  );
  expect(await nodesOf(client)).toEqual(['n1', 'n2', 'n3']);
  await addNode(client, 'n4');
  await eventually(
    () => get(client),
    ({ status }) => status?.numberReady === 4,
  );
  await client.patch(
    kinds.Node,
    { metadata: { name: 'n2' } },
    rawPatch('merge', { spec: { taints: [{ key: 'gpu', effect: 'NoExecute' }] } }),
  );
  await eventually(
    () => nodesOf(client),
    (all) => all.join() === 'n1,n3,n4',
  );
});

test('a rolling update, its history, and the way back', async () => {
  const { client } = await cluster();
  await addNode(client, 'n2');
  await client.create(kinds.DaemonSet, daemonSet());
  const rolled = (generation: number) =>
    eventually(
      () => get(client),
      ({ status }) =>
        status?.observedGeneration === generation &&
        status.updatedNumberScheduled === 2 &&
        status.numberAvailable === 2,
    );
  await rolled(1);
  await client.patch(
    kinds.DaemonSet,
    daemonSet(),
    rawPatch('merge', { spec: { template: template('log', 'image:2') } }),
  );
  await rolled(2);
  expect((await podsOf(client, 'log')).map(({ spec }) => spec?.containers[0]?.image)).toEqual([
    'image:2',
    'image:2',
  ]);
  const revisions = async () =>
    (await client.list(kinds.ControllerRevision, { namespace: 'default' }))
      .toSorted((one, other) => one.revision - other.revision)
      .map(({ revision, data }) => ({ revision, data: data as object }));
  const [first, second] = await revisions();
  expect([first?.revision, second?.revision]).toEqual([1, 2]);
  // what kubectl rollout undo does
  await client.patch(kinds.DaemonSet, daemonSet(), rawPatch('strategic', first?.data ?? {}));
  await rolled(3);
  expect((await podsOf(client, 'log')).map(({ spec }) => spec?.containers[0]?.image)).toEqual([
    'image:1',
    'image:1',
  ]);
  expect((await revisions()).map(({ revision }) => revision)).toEqual([2, 3]);
});

test('a failed pod is replaced', async () => {
  const world = await cluster();
  const { client } = world;
  let starts = 0;
  world.behaviour = { start: () => (starts++ === 0 ? { ...running(), phase: 'Failed' } : running()) };
  await client.create(kinds.DaemonSet, daemonSet());
  await eventually(
    () => get(client),
    ({ status }) => status?.numberReady === 1 && starts === 2,
  );
  const events = await eventually(
    () => client.list(kinds.Event, { namespace: 'default' }),
    (all) => all.some(({ reason }) => reason === 'FailedDaemonPod'),
  );
  expect(events.find(({ reason }) => reason === 'FailedDaemonPod')?.message).toMatch(
    /^Found failed daemon pod default\/log-\w+ on node n1, will try to kill it$/,
  );
});
