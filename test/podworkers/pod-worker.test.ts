import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/kube/types.ts';
import type { SyncTerminatingPodStep } from '../../src/podworkers/pod-syncer.ts';
import { PodWorkers } from '../../src/podworkers/pod-workers.ts';
import { emptyStatus } from '../../src/pleg/pod-cache.ts';
import { settle } from '../../src/base/fake-clock.ts';
import { testPod, WorkersBench } from './bench.ts';

const pod = testPod({ uid: 'u' });

/** A worker whose first sync is open. */
async function syncing(bench = new WorkersBench()): Promise<WorkersBench> {
  bench.workers.updatePod({ type: 'create', pod });
  await bench.turn('u');
  return bench;
}

test('a pod that has ended by itself is stopped, cleaned up and finished without being asked', async () => {
  const bench = await syncing();
  await bench.finish('u', 'terminal');
  expect(bench.workers.stateOf('u')?.phase).toBe('terminating');
  await bench.drain();
  expect(bench.log).toEqual(['u syncPod', 'u syncTerminatingPod', 'u syncTerminatedPod']);
  expect(bench.workers.shouldPodBeFinished('u')).toBe(true);
});

test('after a success the next look is a resync later, after a step on at once, after a failure a back-off later (R117)', async () => {
  const bench = await syncing();
  await bench.finish('u', 'ok');
  bench.workers.updatePod({ type: 'sync', pod });
  await bench.turn('u');
  await bench.finish('u', 'error');
  bench.workers.updatePod({ type: 'sync', pod });
  await bench.turn('u');
  await bench.finish('u', 'terminal');
  // with half of the jitter of 50 %
  expect(bench.delays).toEqual([75_000, 12_500, 0]);
});

test('a sync that fails ends nothing, even one that says that the pod is over', async () => {
  const bench = await syncing();
  bench.steps.get('u')?.end({ terminal: true, error: new Error('broke') });
  await settle();
  expect(bench.workers.stateOf('u')?.phase).toBe('sync');
});

test('a kill cancels the sync in flight, and waits for its end', async () => {
  const bench = await syncing();
  const step = bench.steps.get('u');
  expect(bench.workers.hasToken('u')).toBe(false);
  bench.workers.updatePod({ type: 'kill', pod });
  expect(step?.signal.aborted).toBe(true);
  expect(bench.workers.hasToken('u')).toBe(true);
  expect(bench.turns.size, 'no turn while a step is in flight').toBe(0);
  await bench.finish('u', 'ok');
  expect(bench.turns.has('u')).toBe(true);
});

test('containers are terminating from when the worker has taken it up, not from when it was asked for', async () => {
  const bench = await syncing();
  await bench.finish('u', 'ok');
  expect(bench.workers.shouldPodContainersBeTerminating('u')).toBe(false);
  bench.workers.updatePod({ type: 'kill', pod });
  expect(bench.workers.isPodTerminationRequested('u')).toBe(true);
  expect(bench.workers.shouldPodContainersBeTerminating('u')).toBe(false);
  await bench.turn('u');
  expect(bench.workers.shouldPodContainersBeTerminating('u')).toBe(true);
  expect(bench.workers.couldHaveRunningContainers('u')).toBe(true);
  await bench.finish('u', 'ok');
  expect(bench.workers.couldHaveRunningContainers('u')).toBe(false);
  expect(bench.workers.shouldPodRuntimeBeRemoved('u')).toBe(true);
  expect(bench.workers.isPodKnownTerminated('u')).toBe(true);
  expect(bench.workers.shouldPodContentBeRemoved('u')).toBe(false);
});

test('a sweep leaves a wanted pod as it is, and ends one that nobody wants', async () => {
  const bench = await syncing();
  await bench.finish('u', 'ok');
  const before = bench.workers.stateOf('u');
  bench.workers.syncKnownPods([pod]);
  expect(bench.workers.stateOf('u')).toBe(before);
  expect(bench.turns.size).toBe(0);
  expect(bench.workers.syncKnownPods([])).toEqual(
    new Map([['u', { state: 'terminating', orphan: true, hasConfig: true, static: false }]]),
  );
});

test('a finished life that is still wanted stays known; one that was asked for anew makes room (R92, R124)', async () => {
  const bench = await syncing();
  bench.workers.updatePod({ type: 'kill', pod });
  await bench.drain();
  bench.workers.syncKnownPods([pod]);
  expect(bench.workers.stateOf('u')?.phase).toBe('finished');
  bench.workers.updatePod({ type: 'create', pod });
  bench.workers.syncKnownPods([pod]);
  expect(bench.workers.stateOf('u')).toBeUndefined();
});

test.for([
  { settleFinishedKills: true, told: 1 },
  { settleFinishedKills: false, told: 0 },
])(
  'whoever kills a finished pod is told $told times where that is $settleFinishedKills (R93)',
  async ({ settleFinishedKills, told }) => {
    const bench = await syncing(new WorkersBench({ settleFinishedKills }));
    bench.workers.updatePod({ type: 'kill', pod });
    await bench.drain();
    let times = 0;
    bench.workers.updatePod({ type: 'kill', pod, kill: { completed: () => times++ } });
    expect(times).toBe(told);
  },
);

test('whoever kills a pod is told once, when nothing of it runs', async () => {
  const bench = await syncing();
  let times = 0;
  bench.workers.updatePod({ type: 'kill', pod, kill: { completed: () => times++ } });
  await bench.finish('u', 'ok');
  await bench.turn('u');
  expect(times).toBe(0);
  await bench.finish('u', 'ok');
  expect(times).toBe(1);
  await bench.drain();
  expect(times).toBe(1);
});

test('a static pod whose name is taken asks again a back-off later, and starts when the name is free (R107)', async () => {
  const bench = new WorkersBench();
  const [first, second] = ['s1', 's2'].map((uid) => testPod({ uid, name: 'etcd', isStatic: true }));
  if (!first || !second) throw new Error('two pods');
  bench.workers.updatePod({ type: 'create', pod: first });
  await bench.turn('s1');
  await bench.finish('s1', 'ok');
  bench.workers.updatePod({ type: 'create', pod: second });
  await bench.turn('s2');
  expect(bench.steps.size).toBe(0);
  expect(bench.delays).toEqual([75_000, 12_500]);
  bench.workers.updatePod({ type: 'kill', pod: first });
  expect(bench.workers.isPodForMirrorPodTerminatingByFullName('etcd_ns')).toBe(true);
  await bench.drain();
  expect(bench.workers.isPodForMirrorPodTerminatingByFullName('etcd_ns')).toBe(false);
  bench.workers.updatePod({ type: 'sync', pod: second });
  await bench.turn('s2');
  expect(bench.log.at(-1)).toBe('s2 syncPod');
  bench.workers.updatePod({ type: 'sync', pod: second });
  await bench.finish('s2', 'ok');
  await bench.turn('s2');
  expect(bench.log.at(-1), 'who has started needs no leave again').toBe('s2 syncPod');
});

test('the end is given the shortest grace and the newest word for the status', async () => {
  const steps: SyncTerminatingPodStep[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const workers = new PodWorkers({
    clock: { now: () => 0 },
    random: { float: () => 0, uuid: () => '', hex: () => '' },
    recorder: { event: () => undefined },
    cache: { get: emptyStatus, getNewerThan: async (uid) => emptyStatus(uid) },
    queue: { enqueue: () => undefined },
    syncer: {
      syncPod: async () => {
        await promise;
        return { terminal: false };
      },
      syncTerminatingPod: async (step) => void steps.push(step),
      syncTerminatingRuntimePod: async () => undefined,
      syncTerminatedPod: async () => undefined,
    },
  });
  workers.updatePod({ type: 'create', pod });
  await settle();
  const status = (reason: string) => (): PodStatus => ({ reason });
  workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds: 20, statusFn: status('first') } });
  workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds: 5, statusFn: status('second') } });
  workers.updatePod({ type: 'kill', pod, kill: { gracePeriodSeconds: 9 } });
  resolve(undefined);
  await settle();
  expect(steps.map(({ gracePeriodSeconds, statusFn }) => [gracePeriodSeconds, statusFn?.({})])).toEqual([
    [5, { reason: 'second' }],
  ]);
});

test('the duration of a step is told to who wants to know', async () => {
  let now = 100;
  const seen: string[] = [];
  const step = (ms: number) => async (): Promise<undefined> => void (now += ms);
  const workers = new PodWorkers({
    clock: { now: () => now },
    random: { float: () => 0, uuid: () => '', hex: () => '' },
    recorder: { event: () => undefined },
    cache: { get: emptyStatus, getNewerThan: async (uid) => emptyStatus(uid) },
    queue: { enqueue: () => undefined },
    observeStep: (name, durationMs) => seen.push(`${name} ${durationMs}`),
    syncer: {
      syncPod: async () => {
        now += 7;
        return { terminal: true };
      },
      syncTerminatingPod: step(20),
      syncTerminatingRuntimePod: step(0),
      syncTerminatedPod: step(300),
    },
  });
  workers.updatePod({ type: 'create', pod });
  await settle();
  expect(seen).toEqual(['sync 7', 'terminating 20', 'terminated 300']);
});

test('when the agent ends, what is in flight is cancelled and nothing is planned any more', async () => {
  const bench = await syncing();
  const step = bench.steps.get('u');
  bench.workers.updatePod({ type: 'sync', pod });
  bench.workers.close();
  expect(step?.signal.aborted).toBe(true);
  expect(bench.workers.hasToken('u')).toBe(false);
  await bench.finish('u', 'ok');
  expect(bench.delays).toEqual([]);
  bench.workers.updatePod({ type: 'sync', pod });
  expect(bench.turns.size).toBe(0);
});

test('what only the runtime knows is stopped by its own name, then forgotten', async () => {
  const bench = new WorkersBench();
  const runningPod = { uid: 'r', name: 'left', namespace: 'over', containers: [], sandboxes: [] };
  bench.workers.updatePod({ type: 'sync', runningPod });
  expect(bench.workers.size, 'only a kill is taken (R89)').toBe(0);
  bench.workers.updatePod({ type: 'kill', runningPod });
  expect(bench.workers.stateOf('r')?.fullName).toBe('left_over');
  await bench.drain();
  expect(bench.log).toEqual(['r syncTerminatingRuntimePod']);
  expect(bench.workers.size).toBe(0);
  expect(bench.workers.hasToken('r')).toBe(false);
});

test.for([
  { says: 'an idle runtime', broken: false, phase: 'terminated' },
  { says: 'a runtime of which nothing is known', broken: true, phase: 'terminating' },
])('a pod that is over in the API and meets $says begins as $phase (R90)', ({ broken, phase }) => {
  const bench = new WorkersBench();
  bench.runtimeStatus = (uid) => {
    if (broken) throw new Error('no observation');
    return emptyStatus(uid);
  };
  const over = testPod({ uid: 'u', phase: 'Succeeded' });
  bench.workers.updatePod({ type: 'create', pod: over });
  expect(bench.workers.stateOf('u')?.phase).toBe(phase);
});
