import { expect, test } from 'vitest';
import { preemptPod } from '../../src/pods/allocation.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod } from '../../src/kube/types.ts';
import type { UpdatePodOptions } from '../../src/podworkers/updates.ts';

const victim: Pod = { metadata: { name: 'v', namespace: 'n', uid: 'u', generation: 3 } };

function bed() {
  const clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  const events: string[] = [];
  const updates: UpdatePodOptions[] = [];
  const deps = {
    clock,
    logger: silentLogger,
    recorder: {
      event: (_pod: unknown, type: string, reason: string, message: string) =>
        void events.push(`${type} ${reason} ${message}`),
    },
    workers: { updatePod: (options: UpdatePodOptions) => updates.push(options) },
  };
  return { clock, events, updates, deps };
}

test('who makes room for a critical pod fails, and is told why (R135)', async () => {
  const { deps, events, updates } = bed();
  const preempted = preemptPod(deps, victim);
  const kill = updates[0]?.kill;
  kill?.completed?.();
  await preempted;
  expect(kill).toMatchObject({ evict: true });
  expect(kill?.statusFn?.({ phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })).toEqual({
    phase: 'Failed',
    reason: 'Preempting',
    message: 'Preempted in order to admit critical pod',
    conditions: [
      { type: 'Ready', status: 'True' },
      {
        type: 'DisruptionTarget',
        observedGeneration: 3,
        status: 'True',
        lastTransitionTime: '2026-03-04T05:06:07Z',
        reason: 'TerminationByKubelet',
        message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      },
    ],
  });
  expect(events).toEqual(['Warning Preempting Preempted in order to admit critical pod']);
});

test('one that does not stop in time keeps the critical pod waiting no longer', async () => {
  const { clock, deps, events } = bed();
  const preempted = preemptPod(deps, victim);
  await clock.advance(10_000);
  await preempted;
  expect(events.at(-1)).toBe(
    'Warning ExceededGracePeriod Container runtime did not kill the pod within specified grace period.',
  );
});
