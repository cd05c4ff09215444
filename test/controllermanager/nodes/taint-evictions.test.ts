import { expect, test } from 'vitest';
import { kinds } from '../../../src/controller/kinds.ts';
import { TaintEvictions } from '../../../src/controllermanager/nodes/taint-evictions.ts';
import { node, nodeWorld, pod, signal } from './support.ts';

const taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
const toleration = { key: taint.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
const key = { namespace: 'default', name: 'web' };

/** A pod that stays while it is deleted. */
const kept = (spec: object) => {
  const one = pod('web', 'n1', spec);
  return { ...one, metadata: { ...one.metadata, finalizers: ['test/keep'] } };
};

test('a pod that does not tolerate the taint is deleted at once, with the condition and an Event', async () => {
  const world = nodeWorld([node('n1', { taints: [taint] }), kept({})]);
  const evictions = new TaintEvictions(world.deps);
  expect(await evictions.reconcile(key, signal)).toBeUndefined();
  const { metadata, status } = await world.client.get(kinds.Pod, key);
  expect(metadata?.deletionTimestamp).toBeDefined();
  expect(status?.conditions?.at(-1)).toMatchObject({
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
  });
  expect(world.reports).toEqual(['Pod web: TaintManagerEviction: Marking for deletion Pod default/web']);
  await evictions.reconcile(key, signal);
  expect(world.reports).toHaveLength(1);
});

test('a toleration for a while delays the deletion, and a taint that goes cancels it', async () => {
  const world = nodeWorld([node('n1', { taints: [taint] }), pod('web', 'n1', { tolerations: [toleration] })]);
  const evictions = new TaintEvictions(world.deps);
  expect(await evictions.reconcile(key, signal)).toEqual({ requeueAfter: 300_000 });
  await world.clock.advance(100_000);
  expect(await evictions.reconcile(key, signal)).toEqual({ requeueAfter: 200_000 });
  const setTaints = async (taints: object[]) => {
    const body = { spec: { taints } };
    await world.client.patch(kinds.Node, { metadata: { name: 'n1' } }, { type: 'merge', data: () => body });
  };
  await setTaints([]);
  expect(await evictions.reconcile(key, signal)).toBeUndefined();
  expect(world.reports).toEqual(['Pod web: TaintManagerEviction: Cancelling deletion of Pod default/web']);
  await setTaints([taint]);
  expect(await evictions.reconcile(key, signal)).toEqual({ requeueAfter: 300_000 });
  await world.clock.advance(300_000);
  expect(await evictions.reconcile(key, signal)).toBeUndefined();
  await expect(world.client.get(kinds.Pod, key)).rejects.toMatchObject({ status: 404 });
});
