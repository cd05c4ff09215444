import { afterEach, expect, test } from 'vitest';
import { uidOf } from '../../src/kube/names.ts';
import type { ObservedPod, PodRef, ReportedStatus, SyncPodRequest } from '../../src/provider/index.ts';
import type { PodProvider, PodSyncResult } from '../../src/provider/provider.ts';
import { emptyPodStatus, type RuntimePodStatus } from '../../src/provider/runtime-pod.ts';
import { runtimePodOf } from '../../src/pods/sync-pod.ts';
import { PodNode } from '../support/pod-node.ts';

/** Pods at a backend that is not on this machine: it pushes what changes, and keeps pods until they are deleted. */
class Remote implements PodProvider {
  readonly name = 'remote';
  readonly probedBy = 'provider';
  readonly pods = new Map<string, RuntimePodStatus>();
  readonly calls: string[] = [];
  deleteFails = 0;
  listFails = false;
  #listener: ((observed: ObservedPod) => void) | undefined;

  async syncPod({ pod }: SyncPodRequest): Promise<PodSyncResult> {
    const uid = uidOf(pod);
    if (this.pods.has(uid)) return { results: [], changed: false };
    this.calls.push(`create ${pod.metadata?.name}`);
    const { name = '', namespace = '' } = pod.metadata ?? {};
    this.pods.set(uid, { ...emptyPodStatus({ uid, name, namespace }), reported: { phase: 'Pending' } });
    return { results: [], changed: true };
  }

  async killPod(_pod: unknown, { uid }: PodRef): Promise<void> {
    const { name, containerStatuses } = this.pods.get(uid) ?? {};
    if (!containerStatuses?.some(({ state }) => state === 'running')) return;
    this.calls.push(`kill ${name}`);
    this.set(uid, 'exited', { phase: 'Failed' }, 143);
  }

  async listPods() {
    this.calls.push('list');
    if (this.listFails) throw new Error('no listing');
    return Array.from(this.pods.values(), (status) => ({
      ...runtimePodOf(status),
      containers: containersOf(status),
    }));
  }

  async getPodStatus(ref: PodRef): Promise<RuntimePodStatus> {
    this.calls.push('status');
    return this.pods.get(ref.uid) ?? emptyPodStatus(ref);
  }

  async deletePod({ uid, name }: PodRef): Promise<void> {
    this.calls.push(`delete ${name}`);
    if (this.deleteFails-- > 0) throw new Error('busy');
    this.pods.delete(uid);
  }

  async cleanupPods(wanted: { has(uid: string): boolean }): Promise<void> {
    this.calls.push(`cleanup, ${[...this.pods.keys()].filter((uid) => !wanted.has(uid)).length} not wanted`);
  }

  onPodStatus(listener: (observed: ObservedPod) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
    };
  }

  set(uid: string, state: 'running' | 'exited', reported: ReportedStatus, exitCode = 0): void {
    const before = this.pods.get(uid) ?? emptyPodStatus({ uid, name: 'old', namespace: 'default' });
    const main = {
      id: `remote://${uid}`,
      name: 'main',
      state,
      ...{
        exitCode,
        image: 'any',
        imageId: '',
        imageRef: '',
        hash: 0,
        restartCount: 0,
        reason: '',
        message: '',
      },
    };
    const status = {
      ...before,
      ips: ['198.51.100.7'],
      containerStatuses: [main],
      activeContainerStatuses: [main],
      reported,
    };
    this.pods.set(uid, status);
    this.#listener?.({ pod: { ...runtimePodOf(status), containers: containersOf(status) }, status });
  }
}

const containersOf = (status: RuntimePodStatus) =>
  status.containerStatuses.map(({ id, name, state }) => ({ id, name, state }));

let node: PodNode;
let remote: Remote;

const start = async (): Promise<void> => {
  remote = new Remote();
  node = new PodNode(() => remote);
  await node.start();
};

afterEach(async () => {
  await node.stop();
});

const mainOf = (name: string) => node.pod(name)?.status?.containerStatuses?.[0];

test('a pushed status is told without asking the backend', async () => {
  await start();
  const uid = node.create('web');
  await node.clock.advance(1500);
  remote.calls.length = 0;
  remote.set(uid, 'running', { containers: { main: { ready: false } } });
  await node.clock.advance(1);
  expect(mainOf('web')).toMatchObject({ state: { running: {} }, ready: false });
  expect(node.pod('web')?.status).toMatchObject({ phase: 'Running', podIP: '198.51.100.7' });
  expect(remote.calls.filter((call) => call !== 'list')).toEqual([]);
  remote.set(uid, 'running', { containers: { main: { ready: true } }, hostIp: '203.0.113.9' });
  await node.clock.advance(1);
  expect(mainOf('web')?.ready).toBe(true);
  expect(node.pod('web')?.status?.hostIP).toBe('203.0.113.9');
});

// users-ask 20, 77: pods were Ready while nobody could reach them
test('a pod that its backend calls unready is unready, and its reason is shown while it lasts', async () => {
  await start();
  const uid = node.create('web');
  await node.clock.advance(1500);
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Unreachable', message: 'site is offline' }];
  remote.set(uid, 'running', { conditions, reason: 'SiteOffline', message: 'since noon' });
  await node.clock.advance(1);
  const readyOf = () => node.pod('web')?.status?.conditions?.find(({ type }) => type === 'Ready');
  expect(readyOf()).toMatchObject({ status: 'False', reason: 'Unreachable', message: 'site is offline' });
  expect(node.pod('web')?.status).toMatchObject({
    phase: 'Running',
    reason: 'SiteOffline',
    message: 'since noon',
  });
  remote.set(uid, 'running', {});
  await node.clock.advance(1);
  expect(readyOf()?.status).toBe('True');
  expect(node.pod('web')?.status?.reason).toBeUndefined();
});

test('why a container waits is the backend’s to say', async () => {
  await start();
  const uid = node.create('web');
  await node.clock.advance(1500);
  const waiting = { reason: 'ImagePullBackOff', message: 'no such image' };
  remote.set(uid, 'exited', { containers: { main: { waiting } } }, 3);
  await node.clock.advance(1);
  expect(mainOf('web')).toMatchObject({ state: { waiting }, lastState: { terminated: { exitCode: 3 } } });
});

test('an end that the backend reports is believed when nothing runs, and is final', async () => {
  await start();
  const uid = node.create('job', { restartPolicy: 'Never' });
  await node.clock.advance(1500);
  remote.set(uid, 'running', { phase: 'Succeeded' });
  await node.clock.advance(1);
  expect(node.pod('job')?.status?.phase).toBe('Running');
  remote.set(uid, 'exited', { phase: 'Failed', reason: 'Preempted', message: 'by job 7' }, 0);
  await node.clock.advance(2000);
  expect(node.pod('job')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'Preempted',
    message: 'by job 7',
  });
  remote.set(uid, 'exited', { phase: 'Succeeded' }, 0);
  await node.clock.advance(5000);
  expect(node.pod('job')?.status?.phase).toBe('Failed');
});

// users-ask 1, 2, 84
test('the API object of a pod stays until the backend has removed it', async () => {
  await start();
  const uid = node.create('web');
  await node.clock.advance(1500);
  remote.set(uid, 'running', {});
  await node.clock.advance(1);
  remote.deleteFails = 3;
  node.delete('web');
  await node.clock.advance(2000);
  expect(node.pod('web')?.status).toMatchObject({
    phase: 'Failed',
    containerStatuses: [{ state: { terminated: { exitCode: 143 } } }],
  });
  await node.clock.advance(60_000);
  expect(node.pod('web')).toBeUndefined();
  expect(remote.pods.size).toBe(0);
  expect(remote.calls.filter((call) => call.startsWith('delete'))).toHaveLength(4);
});

test('a pod that ended by itself is kept by the backend until it is deleted', async () => {
  await start();
  const uid = node.create('job', { restartPolicy: 'Never' });
  await node.clock.advance(1500);
  remote.set(uid, 'exited', {}, 0);
  await node.clock.advance(60_000);
  expect(node.pod('job')?.status?.phase).toBe('Succeeded');
  expect(remote.pods.size).toBe(1);
  node.delete('job');
  await node.clock.advance(11_000);
  expect(node.pod('job')).toBeUndefined();
  expect(remote.calls.filter((call) => call === 'delete job')).toHaveLength(1);
});

// users-ask 70, 71, 92: a listing that was late or failed deleted healthy pods
test('what runs and nobody wants ends after two listings, and none is swept after one that failed', async () => {
  remote = new Remote();
  node = new PodNode(() => remote);
  remote.set('orphan', 'running', {});
  await node.start();
  await node.clock.advance(2000);
  expect(remote.calls).not.toContain('kill old');
  remote.listFails = true;
  remote.calls.length = 0;
  await node.clock.advance(60_000);
  expect(remote.calls.filter((call) => call !== 'list')).toEqual([]);
  remote.listFails = false;
  await node.clock.advance(10_000);
  expect(remote.calls).toContain('kill old');
  expect(remote.pods.size).toBe(0);
  expect(remote.calls).toContain('cleanup, 0 not wanted');
});
