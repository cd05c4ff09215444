import { expect, test } from 'vitest';
import { SyncSteps } from '../../src/agent/sync-pod.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod, PodCondition } from '../../src/kube/types.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import { emptyPodStatus } from '../../src/provider/runtime-pod.ts';
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

test('that a pod has its sandbox is told while its images are still pulled (R154)', async () => {
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
  const toldAt: (readonly PodCondition[] | undefined)[] = [];
  const provider: Pick<PodProvider, 'syncPod'> = {
    syncPod: async ({ sandboxReady }) => {
      await clock.advance(1000);
      sandboxReady?.();
      toldAt.push(statuses.getPodStatus('u')?.conditions);
      return { results: [], changed: false };
    },
  };
  const steps = new SyncSteps({
    clock,
    logger: silentLogger,
    recorder: { event: nothing },
    provider: { name: 'p', killPod: unasked, listPods: unasked, getPodStatus: unasked, ...provider },
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
    requestRelist: nothing,
    syncAgain: nothing,
  });
  await steps.syncPod(
    {
      updateType: 'create',
      pod,
      mirrorPod: undefined,
      runtimeStatus: emptyPodStatus({ uid: 'u', name: 'web', namespace: 'ns' }),
    },
    new AbortController().signal,
  );
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
