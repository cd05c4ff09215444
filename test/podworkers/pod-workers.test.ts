import { expect, test } from 'vitest';
import { settle } from '../../src/base/fake-clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { emptyStatus, PodCache } from '../../src/pleg/pod-cache.ts';
import type { PodSyncer } from '../../src/podworkers/pod-syncer.ts';
import { PodWorkers, type PodWorkersDeps } from '../../src/podworkers/pod-workers.ts';
import { testPod, WorkersBench } from './bench.ts';

const instant: PodSyncer = {
  syncPod: async () => ({ terminal: false }),
  syncTerminatingPod: async () => undefined,
  syncTerminatingRuntimePod: async () => undefined,
  syncTerminatedPod: async () => undefined,
};

function workersWith(deps: Partial<PodWorkersDeps>): PodWorkers {
  return new PodWorkers({
    clock: systemClock,
    random: systemRandom,
    recorder: { event: () => undefined },
    cache: { get: emptyStatus, getNewerThan: async (uid) => emptyStatus(uid) },
    queue: { enqueue: () => undefined },
    syncer: instant,
    ...deps,
  });
}

const pod = testPod({ uid: 'u' });

test('workers take their turns by themselves', async () => {
  const workers = workersWith({});
  workers.updatePod({ type: 'create', pod });
  await settle();
  workers.updatePod({ type: 'kill', pod });
  await settle();
  expect(workers.shouldPodBeFinished('u')).toBe(true);
  expect(workers.syncKnownPods([])).toEqual(new Map());
  expect(workers.size).toBe(0);
});

test('what is left takes the place of what was known before', async () => {
  const workers = workersWith({});
  const [stays, goes] = [testPod({ uid: 'stays' }), testPod({ uid: 'goes' })];
  for (const one of [stays, goes]) workers.updatePod({ type: 'create', pod: one });
  await settle();
  const known = workers.syncKnownPods([stays, goes]);
  expect([...known.keys()]).toEqual(['stays', 'goes']);
  workers.updatePod({ type: 'kill', pod: goes });
  await settle();
  expect(workers.syncKnownPods([stays], new Set(['stays']), known)).toBe(known);
  expect([...known.keys()]).toEqual(['stays']);
});

test('a failing cache is an Event, no step, and a later try (R112)', async () => {
  const seen: string[] = [];
  const workers = workersWith({
    cache: { get: emptyStatus, getNewerThan: () => Promise.reject(new Error('cache broke')) },
    recorder: { event: (_object, type, reason, message) => seen.push(`${type} ${reason} ${message}`) },
    queue: {
      enqueue: (_uid, delayMs) => seen.push(delayMs >= 10_000 && delayMs <= 15_000 ? 'back-off' : 'other'),
    },
    syncer: { ...instant, syncPod: () => Promise.reject(new Error('not to be called')) },
  });
  workers.updatePod({ type: 'create', pod });
  await settle();
  expect(seen).toEqual(['Warning FailedSync error determining status: cache broke', 'back-off']);
});

test('each step waits for an observation newer than the end of the one before (R112)', async () => {
  const asked: number[] = [];
  let now = 1000;
  const workers = workersWith({
    clock: { now: () => now },
    cache: {
      get: emptyStatus,
      getNewerThan: async (uid, newerThan) => {
        asked.push(newerThan);
        return emptyStatus(uid);
      },
    },
  });
  for (const at of [1000, 2000, 3000]) {
    now = at;
    workers.updatePod({ type: 'sync', pod });
    await settle();
  }
  expect(asked).toEqual([-Infinity, 1000, 2000]);
});

test('a syncer that throws at once counts as one that rejects', async () => {
  const delays: number[] = [];
  const workers = workersWith({
    queue: { enqueue: (_uid, delayMs) => delays.push(delayMs) },
    syncer: {
      ...instant,
      syncPod: () => {
        throw new Error('broke');
      },
    },
  });
  workers.updatePod({ type: 'create', pod });
  await settle();
  expect(delays[0]).toBeGreaterThanOrEqual(10_000);
  expect(delays[0]).toBeLessThanOrEqual(15_000);
});

test('the worker is given the pod with its allocated resources (R88)', async () => {
  const given: unknown[] = [];
  const workers = workersWith({
    allocatedPod: (desired) => ({ ...desired, spec: { containers: [{ name: 'allocated' }] } }),
    syncer: {
      ...instant,
      syncPod: async (step) => {
        given.push(step.pod.spec?.containers[0]?.name);
        return { terminal: false };
      },
    },
  });
  workers.updatePod({ type: 'create', pod });
  await settle();
  expect(given).toEqual(['allocated']);
});

test('each step is told with its duration', async () => {
  const steps: string[] = [];
  const workers = workersWith({ observeStep: (step) => steps.push(step) });
  workers.updatePod({ type: 'create', pod });
  await settle();
  workers.updatePod({ type: 'kill', pod });
  await settle();
  expect(steps).toEqual(['sync', 'terminating', 'terminated']);
});

test('closing cancels what is in flight and begins nothing', async () => {
  const bench = new WorkersBench();
  bench.workers.updatePod({ type: 'create', pod });
  await bench.turn('u');
  const step = bench.steps.get('u');
  bench.workers.close();
  expect(step?.signal.aborted).toBe(true);
  await bench.finish('u', 'error');
  bench.workers.updatePod({ type: 'sync', pod });
  expect(bench.turns.size).toBe(0);
});

test('an update without a pod is dropped, and so is one of the runtime that is no kill (R89)', () => {
  const workers = workersWith({});
  const runningPod = { uid: 'r', name: 'r', namespace: 'ns', containers: [], sandboxes: [] };
  workers.updatePod({ type: 'update' });
  workers.updatePod({ type: 'update', runningPod });
  expect(workers.size).toBe(0);
  workers.updatePod({ type: 'kill', pod, runningPod });
  expect([...workers.uids()]).toEqual(['u']);
});

test('the kinder option tells the killer of a finished pod at once (R276)', async () => {
  const bench = new WorkersBench({ settleFinishedKills: true });
  bench.workers.updatePod({ type: 'kill', pod });
  await bench.drain();
  let told = 0;
  bench.workers.updatePod({ type: 'kill', pod, kill: { completed: () => told++ } });
  expect(bench.workers.stateOf('u')?.phase).toBe('finished');
  expect(told).toBe(1);
});

test('a mirror of a static pod that is ending is still of use (R122)', async () => {
  const bench = new WorkersBench();
  const etcd = testPod({ uid: 's', name: 'etcd', isStatic: true });
  bench.workers.updatePod({ type: 'create', pod: etcd });
  await bench.drain();
  expect(bench.workers.isPodForMirrorPodTerminatingByFullName('etcd_ns')).toBe(false);
  bench.workers.updatePod({ type: 'kill', pod: etcd });
  expect(bench.workers.isPodForMirrorPodTerminatingByFullName('etcd_ns')).toBe(true);
  await bench.drain();
  expect(bench.workers.isPodForMirrorPodTerminatingByFullName('etcd_ns')).toBe(false);
});

test('closing leaves nobody waiting for an observation, and says nothing of it', async () => {
  const cache = new PodCache();
  const events: string[] = [];
  const workers = workersWith({
    cache,
    recorder: { event: (_object, _type, reason) => events.push(reason) },
  });
  for (let i = 0; i < 20; i++) workers.updatePod({ type: 'create', pod: testPod({ uid: `u${i}` }) });
  await settle();
  expect(cache.waiting).toBe(20);
  workers.close();
  await settle();
  expect(cache.waiting).toBe(0);
  expect(events).toEqual([]);
});

test('killing does not interrupt the wait for an observation (R112)', async () => {
  const cache = new PodCache();
  const workers = workersWith({ cache });
  workers.updatePod({ type: 'create', pod });
  await settle();
  workers.updatePod({ type: 'kill', pod });
  await settle();
  expect(cache.waiting).toBe(1);
  workers.close();
});
