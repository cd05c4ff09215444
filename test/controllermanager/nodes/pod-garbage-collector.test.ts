import { expect, test } from 'vitest';
import { kinds } from '../../../src/controller/kinds.ts';
import { excessTerminated } from '../../../src/controllermanager/nodes/pod-collection.ts';
import { PodGarbageCollector } from '../../../src/controllermanager/nodes/pod-garbage-collector.ts';
import { node, nodeWorld, pod, signal } from './support.ts';

const deleted = (one: ReturnType<typeof pod>) => ({
  ...one,
  metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test/keep'] },
});

test('pods of a node that is gone fail and go after 40 s', async () => {
  const orphan = pod('orphan', 'gone');
  const world = nodeWorld([
    node('n1'),
    pod('fine', 'n1'),
    { ...orphan, metadata: { ...orphan.metadata, finalizers: ['test/keep'] } },
    pod('other-orphan', 'gone'),
  ]);
  const collector = new PodGarbageCollector(world.deps);
  await collector.pass(signal);
  await world.clock.advance(20_000);
  await collector.pass(signal);
  expect(await world.client.list(kinds.Pod)).toHaveLength(3);
  await world.clock.advance(20_000);
  await collector.pass(signal);
  const left = await world.client.list(kinds.Pod);
  expect(left.map(({ metadata }) => metadata?.name)).toEqual(['fine', 'orphan']);
  expect(left[1]?.status).toMatchObject({ phase: 'Failed' });
  expect(left[1]?.status?.conditions?.at(-1)).toMatchObject({
    type: 'DisruptionTarget',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
  });
  expect(left[1]?.metadata?.deletionTimestamp).toBeDefined();
});

test('terminating pods without a node and those of nodes out of service fail', async () => {
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  const world = nodeWorld([
    node('down', { ready: 'Unknown', taints }),
    node('up', { taints }),
    deleted(pod('unscheduled', '', {}, 'Pending')),
    deleted(pod('lost', 'down')),
    deleted(pod('ending', 'up')),
    pod('running', 'down'),
  ]);
  await new PodGarbageCollector(world.deps).pass(signal);
  const phases = (await world.client.list(kinds.Pod)).map(
    ({ metadata, status }) => `${metadata?.name ?? ''} ${status?.phase ?? ''}`,
  );
  expect(phases.sort()).toEqual(['ending Running', 'lost Failed', 'running Running', 'unscheduled Failed']);
});

test('beyond the threshold evicted pods go first, then the oldest', () => {
  const evicted = pod('z-evicted', 'n1', {}, 'Failed');
  const pods = [
    pod('b', 'n1', {}, 'Succeeded'),
    pod('running', 'n1'),
    { ...evicted, status: { ...evicted.status, reason: 'Evicted' } },
    pod('a', 'n1', {}, 'Failed'),
  ];
  const names = (threshold: number) =>
    excessTerminated(pods, threshold).map(({ metadata }) => metadata?.name);
  expect(names(3)).toEqual([]);
  expect(names(1)).toEqual(['z-evicted', 'a']);
});
