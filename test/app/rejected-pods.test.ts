import { expect, test } from 'vitest';
import { watchRejected } from '../../src/app/rejected-pods.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Pod, PodStatus } from '../../src/kube/types.ts';

test('rejected static pods are reported once, and again when they are removed; those with a mirror pod are not', async () => {
  const clock = new FakeClock(0);
  const pods = new Map<Pod, Pod | undefined>();
  const statuses = new Map<string, PodStatus>();
  const told: string[] = [];
  const off = watchRejected(
    {
      podManager: { getStaticPodToMirrorPodMap: () => pods },
      statusManager: { getPodStatus: (uid) => statuses.get(uid) },
    },
    clock,
    (change) =>
      told.push(
        change.type === 'set'
          ? `${change.pod.metadata?.name ?? ''} ${change.pod.status?.reason ?? ''}`
          : change.key,
      ),
  );
  const pod: Pod = { metadata: { name: 'a', namespace: 'd', uid: '1' } };
  pods.set(pod, undefined);
  await clock.advance(1000);
  statuses.set('1', { phase: 'Failed', reason: 'NodePorts' });
  await clock.advance(5000);
  expect(told).toEqual(['a NodePorts']);
  pods.set(pod, pod);
  await clock.advance(1000);
  expect(told).toEqual(['a NodePorts']);
  pods.set(pod, undefined);
  await clock.advance(1000);
  pods.clear();
  await clock.advance(5000);
  expect(told).toEqual(['a NodePorts', 'a NodePorts', 'd/a']);
  off();
  expect(clock.pending).toBe(0);
});
