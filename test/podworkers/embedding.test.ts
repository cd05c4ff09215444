import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import type { Pod, PodStatus } from '../../src/kube/types.ts';
import { PodCache } from '../../src/pleg/pod-cache.ts';
import { type KillPodOptions, PodWorkers, type UpdatePodOptions } from '../../src/podworkers/embedding.ts';
import type { PodSyncer, SyncPodStep, SyncTerminatingPodStep } from '../../src/podworkers/pod-syncer.ts';

const podOf = (uid: string): Pod => ({
  metadata: { uid, name: uid, namespace: 'd' },
  spec: { containers: [{ name: 'c' }] },
});

/** Workers over a syncer that writes down what it is asked. */
function bed(syncer: Partial<PodSyncer> = {}) {
  const clock = new FakeClock(1_000_000);
  const steps: string[] = [];
  const events: string[] = [];
  const cache = new PodCache();
  const workers = new PodWorkers({
    clock,
    cache,
    recorder: { event: (_object, _type, reason, message) => void events.push(`${reason}: ${message}`) },
    syncer: {
      syncPod: ({ updateType }: SyncPodStep) => {
        steps.push(`sync ${updateType}`);
        return Promise.resolve({ terminal: false });
      },
      syncTerminatingPod: ({ gracePeriodSeconds, statusFn }: SyncTerminatingPodStep) => {
        steps.push(`terminating ${gracePeriodSeconds} ${statusFn?.({}).reason ?? ''}`.trim());
        return Promise.resolve();
      },
      syncTerminatingRuntimePod: ({ uid }) => {
        steps.push(`terminating runtime ${uid}`);
        return Promise.resolve();
      },
      syncTerminatedPod: () => {
        steps.push('terminated');
        return Promise.resolve();
      },
      ...syncer,
    },
  });
  const look = async (ms = 0): Promise<void> => {
    await clock.advance(ms);
    cache.updateTime(clock.steady() + 1);
    await settle();
  };
  return { clock, cache, workers, steps, events, look };
}

test('a pod lives and ends by updates in the words of the reference framework', async () => {
  const { workers, steps, look } = bed();
  const pod = podOf('a');
  expect(workers.couldHaveRunningContainers('a'), 'before the desired pods are known').toBe(true);
  workers.syncKnownPods([pod]);
  expect(workers.couldHaveRunningContainers('a'), 'of an unknown pod').toBe(false);
  const create: UpdatePodOptions = { updateType: 'create', pod, startTime: 1 };
  workers.updatePod(create);
  await look();
  expect(workers.podWorkerState('a')).toBe('sync');
  expect(workers.couldHaveRunningContainers('a')).toBe(true);

  let stopped = 0;
  const killPodOptions: KillPodOptions = {
    evict: true,
    podStatusFunc: (status: PodStatus): PodStatus => ({ ...status, reason: 'Evicted' }),
    podTerminationGracePeriodSecondsOverride: 7,
    completed: () => {
      stopped++;
    },
  };
  workers.updatePod({ updateType: 'kill', pod, killPodOptions });
  expect(workers.isPodTerminationRequested('a')).toBe(true);
  expect(stopped, 'not before it is stopped').toBe(0);
  await look(1);
  await look(1);
  expect(steps).toEqual(['sync create', 'terminating 7 Evicted', 'terminated']);
  expect(stopped).toBe(1);
  expect(workers.isPodKnownTerminated('a')).toBe(true);
  expect(workers.shouldPodContentBeRemoved('a')).toBe(true);
  expect(workers.podWorkerState('a')).toBe('terminated');
  workers.updatePod({ updateType: 'create', pod });
  expect(workers.podWorkerState('a')).toBe('terminated-and-recreated');
  workers.close();
});

test('updates in this package’s own words do the same', async () => {
  const { workers, steps, look } = bed();
  workers.updatePod({ type: 'create', pod: podOf('a') });
  await look();
  workers.updatePod({ type: 'kill', pod: podOf('a'), kill: { gracePeriodSeconds: 3 } });
  await look(1);
  await look(1);
  expect(steps).toEqual(['sync create', 'terminating 3', 'terminated']);
  workers.close();
});

test('without a queue the workers look again by themselves: after a minute, and sooner after an error', async () => {
  let fails = true;
  const { workers, steps, look } = bed({
    syncPod: () => {
      steps.push('sync');
      return fails ? Promise.reject(new Error('away')) : Promise.resolve({ terminal: false });
    },
  });
  workers.updatePod({ updateType: 'create', pod: podOf('a') });
  await look();
  expect(steps).toEqual(['sync']);
  fails = false;
  await look(15_000);
  expect(steps).toEqual(['sync', 'sync']);
  await look(91_000);
  expect(steps).toHaveLength(3);
  workers.close();
});

test.for<[string, (workers: ReturnType<typeof bed>['workers'], completed: () => void) => void]>([
  [
    'of a pod that has ended already',
    (workers, completed) => {
      workers.updatePod({ updateType: 'kill', pod: podOf('a') });
      workers.updatePod({ updateType: 'kill', pod: podOf('a'), killPodOptions: { completed } });
    },
  ],
  [
    'of nothing',
    (workers, completed) => {
      workers.updatePod({ updateType: 'kill', killPodOptions: { completed } });
    },
  ],
  [
    'of workers that are closed',
    (workers, completed) => {
      workers.updatePod({ updateType: 'create', pod: podOf('a') });
      workers.updatePod({ updateType: 'kill', pod: podOf('a'), killPodOptions: { completed } });
      workers.close();
    },
  ],
])('a completion is called once: %s', async ([, act]) => {
  const { workers, look } = bed();
  let calls = 0;
  act(workers, () => {
    calls++;
  });
  for (let pass = 0; pass < 4; pass++) await look(1);
  workers.close();
  expect(calls).toBe(1);
});

test('a pod that only the runtime knows is killed, and tried again when that fails', async () => {
  let tries = 0;
  const { workers, look } = bed({
    syncTerminatingRuntimePod: () => (++tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve()),
  });
  const runningPod = { uid: 'r', name: 'r', namespace: 'd', containers: [], sandboxes: [] };
  workers.updatePod({ updateType: 'kill', runningPod });
  await look();
  await look(16_000);
  expect(tries).toBe(2);
  expect(workers.stateOf('r')).toBeUndefined();
  workers.close();
});
