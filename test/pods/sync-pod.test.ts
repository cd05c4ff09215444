import { expect, test } from 'vitest';
import { SyncSteps } from '../../src/pods/sync-pod.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod, PodCondition } from '../../src/kube/types.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import type { SyncPodOutcome } from '../../src/podworkers/pod-syncer.ts';
import { emptyPodStatus, type RuntimeContainer } from '../../src/provider/runtime-pod.ts';
import { StatusManager } from '../../src/status/status-manager.ts';

const pod: Pod = {
  metadata: { uid: 'u', name: 'web', namespace: 'ns', generation: 3 },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
};
const conditions: readonly PodCondition[] = [
  { type: 'PodReadyToStartContainers', status: 'False' },
  { type: 'Ready', status: 'False' },
];
const nothing = (): void => undefined;
const unasked = (): Promise<never> => Promise.reject(new Error('not asked for'));

interface Bed {
  readonly clock: FakeClock;
  readonly statuses: StatusManager;
  /** Which pods are to be looked at. */
  readonly looks: string[];
  /** Which are to be synced with the next tick. */
  readonly soon: string[];
  readonly steps: (provider: Partial<PodProvider>) => SyncSteps;
  readonly sync: (syncPod: PodProvider['syncPod']) => Promise<SyncPodOutcome>;
}

function bed(): Bed {
  const clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  const statuses = new StatusManager({
    clock,
    logger: silentLogger,
    client: { getPod: unasked, patchStatus: unasked, deletePod: unasked },
    pods: {
      getPodByUID: () => pod,
      getMirrorPodByPod: () => undefined,
      translatePodUID: (uid) => uid,
      getUIDTranslations: () => ({ podToMirror: new Map(), mirrorToPod: new Map() }),
    },
    deletionSafety: { podCouldHaveRunningContainers: () => true },
  });
  const looks: string[] = [];
  const soon: string[] = [];
  const steps = (provider: Partial<PodProvider>): SyncSteps =>
    new SyncSteps({
      logger: silentLogger,
      recorder: { event: nothing },
      provider: {
        ...{ name: 'p', killPod: unasked, listPods: unasked, getPodStatus: unasked, syncPod: unasked },
        ...provider,
      },
      statuses,
      probes: { addPod: nothing, stopLivenessAndStartup: nothing, removePod: nothing },
      volumes: { mount: async () => undefined, unmount: async () => undefined },
      objects: { register: nothing, unregister: nothing },
      cgroups: { exists: () => true, ensure: async () => undefined, destroy: async () => undefined },
      releaseUsers: nothing,
      reasons: { update: nothing },
      resizes: statuses.resizes,
      generateStatus: () => ({ phase: 'Pending', conditions }),
      isTerminationRequested: () => false,
      networkError: () => undefined,
      pullSecrets: async () => [],
      reconcileMirror: async () => undefined,
      requestRelist: (uid) => void looks.push(uid),
      syncAgain: nothing,
      syncSoon: (uid) => void soon.push(uid),
    });
  const sync = (syncPod: PodProvider['syncPod']): Promise<SyncPodOutcome> =>
    steps({ syncPod }).syncPod(
      {
        updateType: 'create',
        pod,
        mirrorPod: undefined,
        runtimeStatus: emptyPodStatus({ uid: 'u', name: 'web', namespace: 'ns' }),
      },
      new AbortController().signal,
    );
  return { clock, statuses, looks, soon, steps, sync };
}

test('that a pod has its sandbox is told while its images are still pulled (R154)', async () => {
  const { clock, statuses, sync } = bed();
  const toldAt: (readonly PodCondition[] | undefined)[] = [];
  await sync(async ({ sandboxReady }) => {
    await clock.advance(1000);
    sandboxReady?.();
    toldAt.push(statuses.getPodStatus('u')?.conditions);
    return { results: [], changed: false };
  });
  expect(toldAt).toEqual([
    [
      {
        type: 'PodReadyToStartContainers',
        status: 'True',
        observedGeneration: 3,
        lastTransitionTime: '2026-03-04T05:06:08Z',
      },
      expect.objectContaining({ type: 'Ready', status: 'False' }),
    ],
  ]);
});

test('what a sync changed is looked at once it has ended, so that one look is enough', async () => {
  const { looks, sync } = bed();
  const { postSync } = await sync(async () => ({ results: [], changed: true }));
  expect(looks).toEqual([]);
  postSync?.();
  expect(looks).toEqual(['u']);
  (await sync(async () => ({ results: [], changed: false }))).postSync?.();
  expect(looks).toEqual(['u']);
});

test('what only the runtime knows is ended without its hooks in a second; a refused pod is looked at after that (R159)', async () => {
  const { soon, steps } = bed();
  const container: RuntimeContainer = { id: 'r://1', name: 'c', state: 'running', image: 'i' };
  const running = { uid: 'u', name: 'web', namespace: 'ns', containers: [container], sandboxes: [] };
  const kills: unknown[] = [];
  const killPod: PodProvider['killPod'] = async (pod, { uid }, graceSeconds) =>
    void kills.push({ containers: pod?.spec?.containers, uid, graceSeconds });
  await steps({ killPod }).syncTerminatingRuntimePod(running);
  expect(kills).toEqual([{ containers: [{ name: 'c', image: 'i' }], uid: 'u', graceSeconds: 1 }]);
  expect(soon).toEqual(['u']);
  const failing = steps({ killPod: () => Promise.reject(new Error('no')) });
  await expect(failing.syncTerminatingRuntimePod(running)).rejects.toThrow('no');
  expect(soon).toEqual(['u']);
});
