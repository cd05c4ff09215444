import { expect, test } from 'vitest';
import { ActiveDeadline } from '../../src/pods/active-deadline.ts';
import { MirrorClient, mirrorOf, parseFullName, reconcileMirror } from '../../src/pods/mirror-client.ts';
import { isMirrorPodOf, PodManager } from '../../src/pods/pod-manager.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod } from '../../src/kube/types.ts';

const staticPod: Pod = {
  metadata: {
    uid: 'static',
    name: 'etcd',
    namespace: 'kube-system',
    annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h' },
  },
};
const mirror: Pod = {
  metadata: { ...mirrorOf(staticPod, { name: 'n', uid: 'nu' }).metadata, uid: 'mirror' },
};

test('a mirror carries the hash and belongs to the node (R242)', () => {
  expect(isMirrorPodOf(mirror, staticPod)).toBe(true);
  expect(mirror.metadata?.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'nu', controller: true },
  ]);
});

test.for([
  { says: 'the mirror first', order: [mirror, staticPod] },
  { says: 'the pod first', order: [staticPod, mirror] },
])('pod and mirror find each other, $says (R29)', ({ order }) => {
  const manager = new PodManager();
  for (const pod of order) manager.addPod(pod);
  expect(manager.translatePodUID('mirror')).toBe('static');
  expect(manager.getPodAndMirrorPod(mirror)).toEqual({ pod: staticPod, mirror, wasMirror: true });
  expect(manager.getPods()).toEqual([staticPod]);
});

test('a mirror without its pod is an orphan (R32)', () => {
  const manager = new PodManager();
  manager.addPod(mirror);
  expect(manager.getPodsAndMirrorPods().orphanedMirrorFullNames).toEqual(['etcd_kube-system']);
});

test('alone, without an API server, mirrors are neither made nor deleted (R25)', async () => {
  const client = new MirrorClient({
    nodeName: 'n',
    logger: silentLogger,
    getNode: () => Promise.reject(new Error('not asked for')),
  });
  await client.createMirrorPod(staticPod);
  expect(await client.deleteMirrorPod('etcd_kube-system')).toBe(false);
});

test.for(['web', 'a_b_c', '_ns', 'web_', ''])('"%s" is no full name', (fullName) => {
  expect(() => parseFullName(fullName)).toThrow('failed to parse the pod full name');
});

test('a pod is ended at the very second of its deadline (R207)', () => {
  let now = Date.parse('2026-01-01T00:00:09.999Z');
  const events: string[] = [];
  const deadline = new ActiveDeadline({
    clock: { now: () => now },
    recorder: { event: (_object, _type, reason) => events.push(reason) },
    getPodStatus: () => undefined,
  });
  const pod: Pod = {
    spec: { containers: [], activeDeadlineSeconds: 10 },
    status: { startTime: '2026-01-01T00:00:00Z' },
  };
  expect(deadline.shouldSync(pod)).toBe(false);
  expect(deadline.shouldEvict(pod)).toBeUndefined();
  now += 1;
  expect(deadline.shouldEvict(pod)).toMatchObject({ reason: 'DeadlineExceeded' });
  expect(events).toEqual(['DeadlineExceeded']);
});

test('a mirror that was deleted stays away for a pause before it is made anew', async () => {
  const calls: string[] = [];
  const deps = {
    mirrorClient: {
      deleteMirrorPod: async () => calls.push('delete') > 0,
      createMirrorPod: async () => void calls.push('create'),
    },
    logger: silentLogger,
    nodeGetter: () => ({ metadata: { name: 'n', uid: 'u' } }),
    pause: async () => void calls.push('pause'),
  };
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'd', annotations: { 'kubernetes.io/config.hash': 'h' } },
  };
  const dying: Pod = { metadata: { ...pod.metadata, uid: 'm', deletionTimestamp: '2026-11-25T08:00:00Z' } };
  await reconcileMirror(deps, pod, dying);
  expect(calls.splice(0)).toEqual(['delete', 'pause', 'create']);
  await reconcileMirror(deps, pod, undefined);
  expect(calls).toEqual(['create']);
});
