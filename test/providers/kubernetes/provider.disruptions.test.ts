import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eventResource, namespaceResource, podResource } from '../../../src/api/resources.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { startControllerManager } from '../../../src/controllermanager/index.ts';
import { nameOf } from '../../../src/kube/names.ts';
import type { Event, Pod, PodCondition } from '../../../src/kube/types.ts';
import { PlayedNode } from '../../support/played-node.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

let bed: TwoClusters;
let node: PlayedNode;
const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
const settings = {
  nodeSelector: { role: 'played' },
  tolerations: [{ ...unreachable, tolerationSeconds: 30 }],
};
beforeAll(async () => {
  bed = await twoClusters();
  node = new PlayedNode(bed.there.client, 'played');
  await node.register();
  await bed.startAgent(settings);
}, 30_000);
afterAll(async () => {
  await bed.stop();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 50 });

/** Waits until the pod here looks as it should. */
const shows = (name: string, status: object): Promise<Pod> =>
  eventually(async () => {
    const pod = await bed.pod(name);
    expect(pod.status).toMatchObject(status);
    return pod;
  });

const disruption = (pod: Pod): PodCondition | undefined =>
  pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');

const target = (reason: string, message: string): PodCondition => ({
  ...{ type: 'DisruptionTarget', status: 'True', reason, message },
  lastTransitionTime: new Date().toISOString(),
});

/** Creates a pod here and waits until its backing pod is bound there. */
async function bound(name: string): Promise<Pod> {
  await bed.create(name);
  return eventually(async () => {
    const [backing] = await bed.backing(name);
    expect(backing?.spec?.nodeName).toBe('played');
    return backing!;
  });
}

/** Creates a pod here that runs there. */
async function running(name: string): Promise<Pod> {
  const backing = await bound(name);
  await node.run(backing);
  await shows(name, { phase: 'Running', containerStatuses: [{ ready: true }] });
  return backing;
}

const deleteThere = (backing: Pod): Promise<unknown> =>
  bed.there.client.delete(podResource, { namespace: backingNamespace, name: nameOf(backing) });

test('an eviction by the node there has its reason, message, exit code and disruption here', async () => {
  const backing = await running('pressed');
  const message = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi.';
  await node.end(backing, 137, {
    ...{ phase: 'Failed', reason: 'Evicted', message },
    conditions: [target('TerminationByKubelet', message)],
  });
  const pod = await shows('pressed', {
    ...{ phase: 'Failed', reason: 'Evicted', message },
    containerStatuses: [{ ready: false, state: { terminated: { exitCode: 137 } } }],
  });
  expect(disruption(pod)).toMatchObject({ status: 'True', reason: 'TerminationByKubelet', message });
});

test('a preemption there is a Failed pod here that says for whom', async () => {
  const backing = await running('preempted');
  const message = 'default-scheduler: preempting to accommodate a higher priority pod';
  await node.report(backing, { conditions: [target('PreemptionByScheduler', message)] });
  await deleteThere(backing);
  // while it stops there it runs here, with the disruption
  expect(disruption(await bed.pod('preempted')) ?? target('PreemptionByScheduler', '')).toMatchObject({
    reason: 'PreemptionByScheduler',
  });
  await node.end(backing, 143, { phase: 'Failed' });
  await node.confirm(backing);
  const pod = await shows('preempted', {
    ...{ phase: 'Failed', reason: 'BackingPodDeleted' },
    message: `pod ${backingNamespace}/${nameOf(backing)} was deleted in the backing cluster: PreemptionByScheduler: ${message}`,
    containerStatuses: [{ state: { terminated: { exitCode: 143 } } }],
  });
  expect(disruption(pod)).toMatchObject({ reason: 'PreemptionByScheduler', message });
});

test('a backing pod that is deleted before it has a node is a Failed pod that never ran', async () => {
  await bed.startAgent({ nodeSelector: { role: 'absent' } });
  await bed.create('unplaced');
  const backing = await eventually(async () => {
    const [found] = await bed.backing('unplaced');
    expect(found?.spec?.containers).toHaveLength(1);
    expect(found?.spec?.schedulingGates ?? []).toEqual([]);
    return found!;
  });
  // the scheduler there says so
  const message: unknown = expect.stringMatching(
    /^0\/\d+ nodes are available: .*didn't match Pod's node affinity/,
  );
  await shows('unplaced', {
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason: 'Unschedulable', message } } }],
  });
  await deleteThere(backing);
  const { status } = await shows('unplaced', { phase: 'Failed', reason: 'BackingPodDeleted' });
  expect(status?.containerStatuses?.[0]?.state).not.toHaveProperty('running');
  await bed.startAgent(settings);
});

test('a phase Unknown there is a pod that is not ready here, and ready again with its node', async () => {
  const backing = await running('unknown');
  await node.report(backing, { phase: 'Unknown', reason: 'NodeLost', message: 'the node is unresponsive' });
  await shows('unknown', {
    ...{ phase: 'Running', reason: 'NodeLost', message: 'the node is unresponsive' },
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'BackingPodUnknown' }),
    ]) as unknown,
  });
  await node.report(backing, { phase: 'Running', reason: '', message: '' });
  const { status } = await shows('unknown', {
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: 'Ready', status: 'True' }),
    ]) as unknown,
  });
  expect(status).not.toHaveProperty('reason');
});

test('a lost node there: the pod is not ready, then runs on without it, and has Failed once the node is given up', async () => {
  const backing = await running('stranded');
  const other = new PlayedNode(bed.there.client, 'other');
  await other.register();
  const clock = new FakeClock(Date.now());
  const controllers = startControllerManager({
    connection: bed.there.client,
    clock,
    controllers: [
      'node-lifecycle-controller',
      'taint-eviction-controller',
      'pod-garbage-collector-controller',
    ],
  });
  const inTime = <T>(check: () => Promise<T>): Promise<T> =>
    vi.waitFor(
      async () => {
        await other.beat();
        await clock.advance(1000);
        return check();
      },
      { timeout: 60_000, interval: 10 },
    );
  try {
    await inTime(async () => {
      const { status } = await bed.pod('stranded');
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
      expect(status?.phase).toBe('Running');
    });
    await inTime(async () => {
      const [evicted] = await bed.backing('stranded');
      expect(evicted?.metadata?.deletionTimestamp).toBeDefined();
      expect(disruption(evicted!)?.reason).toBe('DeletionByTaintManager');
    });
    const { status } = await bed.pod('stranded');
    expect(status).toMatchObject({ phase: 'Running', containerStatuses: [{ state: { running: {} } }] });
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
    await node.remove();
    await inTime(async () => {
      expect((await bed.pod('stranded')).status).toMatchObject({
        ...{ phase: 'Failed', reason: 'BackingPodDeleted' },
        message: `pod ${backingNamespace}/${nameOf(backing)} was deleted in the backing cluster: DeletionByPodGC: PodGC: node no longer exists`,
        containerStatuses: [
          { ready: false, state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } },
        ],
      });
    });
  } finally {
    await controllers.stop();
    await node.register().catch(() => node.beat()); // it is still there when the test has failed before
  }
}, 200_000);

test('a namespace that is deleted there ends its pods, and later pods name it', async () => {
  const backing = await running('evacuated');
  await bed.there.client.delete(namespaceResource, { name: backingNamespace });
  await eventually(async () => {
    const [now] = await bed.backing('evacuated');
    expect(now?.metadata?.deletionTimestamp).toBeDefined();
  });
  await node.end(backing, 0, {});
  await node.confirm(backing);
  await shows('evacuated', { phase: 'Failed', reason: 'BackingPodDeleted' });
  await bed.create('late');
  await eventually(async () => {
    expect((await bed.pod('late')).status?.phase).toBe('Pending');
    const events = await bed.here.list<Event>(eventResource, 'default');
    const own = events.filter(({ involvedObject }) => involvedObject.name === 'late');
    expect(own.map(({ message }) => message).join()).toContain(`namespace ${backingNamespace}`);
  });
}, 40_000);
