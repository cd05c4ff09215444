import { expect, test } from 'vitest';
import { Housekeeping, type HousekeepingDeps } from '../../src/pods/housekeeping.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Members } from '../../src/base/members.ts';
import type { Pod } from '../../src/kube/types.ts';
import type { PodWorkerSync } from '../../src/podworkers/queries.ts';
import type { RuntimePod } from '../../src/provider/runtime-pod.ts';

const podOf = (uid: string, more: Partial<Pod> = {}): Pod => ({
  ...more,
  metadata: { uid, ...more.metadata },
});

const runningOf = (uid: string): RuntimePod => ({
  ...{ uid, name: uid, namespace: 'default', createdAt: 0, sandboxes: [] },
  containers: [{ id: `memory://${uid}`, name: 'main', state: 'running' }],
});

const workerIn = (state: PodWorkerSync['state']): PodWorkerSync => ({
  ...{ state, orphan: false, hasConfig: true, static: false },
});

const uids = ['a', 'b', 'c', 'd', 'mirror'];

/** A node whose pods, workers and runtime the test sets, and what a pass did there. */
class Node {
  pods: Pod[] = [];
  mirrors: Pod[] = [];
  orphanedMirrors: string[] = [];
  workers: Record<string, PodWorkerSync> = {};
  list: () => Promise<readonly RuntimePod[]> = () => Promise.resolve([]);
  done: string[] = [];
  readonly housekeeping: Housekeeping;

  constructor(more: Partial<HousekeepingDeps> = {}) {
    const say = (what: string, members?: Members): void => {
      this.done.push([what, ...(members ? uids.filter((uid) => members.has(uid)) : [])].join(' '));
    };
    this.housekeeping = new Housekeeping({
      logger: silentLogger,
      pods: {
        getPodsAndMirrorPods: () => ({
          pods: this.pods,
          mirrors: this.mirrors,
          orphanedMirrorFullNames: this.orphanedMirrors,
        }),
      },
      workers: {
        syncKnownPods: (desired, wanted, known) => {
          say(`told of ${desired.length}`, wanted);
          known.clear();
          for (const [uid, worker] of Object.entries(this.workers)) known.set(uid, worker);
        },
        startPod: (pod) => {
          say(`started ${pod.metadata?.uid}`);
        },
        killPod: (pod) => {
          say(`killed ${pod.metadata?.uid}`);
        },
        killRuntimePod: ({ uid }) => {
          say(`killed what runs of ${uid}`);
        },
        isPodForMirrorPodTerminatingByFullName: (fullName) => fullName === 'ending_default',
      },
      probes: {
        cleanupPods: (running) => {
          say('probes', running);
        },
      },
      statuses: {
        removeOrphanedStatuses: (keep) => {
          say('statuses', keep);
        },
      },
      allocations: {
        removeOrphanedPods: (keep) => {
          say('allocations', keep);
        },
      },
      observations: {
        removeOrphans: (keep) => {
          say('observations', { has: keep });
        },
      },
      listPods: () => this.list(),
      isActive: ({ status }) => status?.phase !== 'Failed',
      deleteMirrorPod: async (fullName) => {
        say(`mirror ${fullName} deleted`);
      },
      cleanupOrphans: async (desired, running) => {
        say('directories of all but', { has: (uid) => desired.has(uid) || running.has(uid) });
      },
      cleanupNode: () => async (running) => {
        say('cgroups of all but', running);
      },
      ...more,
    });
  }

  async pass(): Promise<readonly string[]> {
    this.done = [];
    await this.housekeeping.handlePodCleanups();
    return this.done;
  }
}

test('a pass takes its steps in order, each with what it needs (R67…R80)', async () => {
  const node = new Node();
  node.pods = [
    podOf('a'),
    podOf('b'),
    podOf('c', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { phase: 'Failed' } }),
  ];
  node.mirrors = [podOf('mirror')];
  node.orphanedMirrors = ['ending_default', 'gone_default'];
  node.workers = { a: workerIn('sync'), d: workerIn('terminated') };
  node.list = () => Promise.resolve([runningOf('a'), runningOf('orphan')]);
  expect(await node.pass()).toEqual([
    'told of 3 a b c',
    'probes a',
    'statuses a b c mirror',
    'allocations a b c',
    'observations a b c d',
    'directories of all but a b c',
    'mirror gone_default deleted',
    'started b',
    'killed c',
    'killed what runs of orphan',
    'cgroups of all but a',
  ]);
});

test('a pass knows nothing of the one before', async () => {
  const node = new Node();
  node.pods = [podOf('a'), podOf('b')];
  node.workers = { a: workerIn('sync'), b: workerIn('sync') };
  node.list = () => Promise.resolve([runningOf('a'), runningOf('b')]);
  await node.pass();
  node.pods = [podOf('c')];
  node.workers = { c: workerIn('terminating') };
  node.list = () => Promise.resolve([]);
  expect(await node.pass()).toEqual([
    'told of 1 c',
    'probes c',
    'statuses c',
    'allocations c',
    'observations c',
    'directories of all but c',
    'cgroups of all but c',
  ]);
});

test('where the runtime cannot be asked the pass ends, and the next one does it all (R70)', async () => {
  const node = new Node();
  node.pods = [podOf('a')];
  node.list = () => Promise.reject(new Error('runtime is down'));
  await expect(node.pass()).rejects.toThrow('runtime is down');
  expect(node.done).toEqual(['told of 1 a']);
  node.list = () => Promise.resolve([]);
  expect(await node.pass()).toContain('started a');
});

test('passes that overlap do not mix what they know', async () => {
  const node = new Node();
  node.pods = [podOf('a')];
  node.workers = { a: workerIn('sync') };
  const listed = Promise.withResolvers<readonly RuntimePod[]>();
  node.list = () => listed.promise;
  const first = node.housekeeping.handlePodCleanups();
  node.pods = [podOf('b')];
  node.workers = { b: workerIn('sync') };
  node.list = () => Promise.resolve([]);
  expect(await node.pass()).toContain('probes b');
  node.done = [];
  listed.resolve([]);
  await first;
  expect(node.done).toContain('probes a');
});

test('a step that fails does not end the pass (R73)', async () => {
  const node = new Node({ cleanupOrphans: () => Promise.reject(new Error('still mounted')) });
  node.pods = [podOf('a')];
  expect(await node.pass()).toEqual(expect.arrayContaining(['started a', 'cgroups of all but']));
});
