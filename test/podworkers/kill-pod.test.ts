import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { killPodNow, killTimeoutMs } from '../../src/podworkers/kill-pod.ts';
import type { UpdatePodOptions } from '../../src/podworkers/updates.ts';
import { testPod } from './bench.ts';

function setUp() {
  const clock = new FakeClock();
  const updates: UpdatePodOptions[] = [];
  const events: string[] = [];
  const deps = {
    clock,
    recorder: {
      event: (_object: object, type: string, reason: string, message: string) =>
        events.push(`${type} ${reason} ${message}`),
    },
    workers: { updatePod: (options: UpdatePodOptions) => updates.push(options) },
  };
  return { clock, updates, events, deps };
}

test.for([
  { grace: 0, ms: 10_000 },
  { grace: 5, ms: 10_000 },
  { grace: 7, ms: 10_000 },
  { grace: 30, ms: 45_000 },
  { grace: 31, ms: 46_000 },
])('with $grace s of grace a killer waits $ms ms (R106)', ({ grace, ms }) => {
  expect(killTimeoutMs(grace)).toBe(ms);
});

test('it resolves when the worker tells, and no timer is left', async () => {
  const { clock, updates, deps } = setUp();
  const killed = killPodNow(deps, testPod({ uid: 'u' }), { evict: true, gracePeriodSeconds: 3 });
  expect(updates[0]).toMatchObject({ type: 'kill', kill: { evict: true, gracePeriodSeconds: 3 } });
  updates[0]?.kill?.completed?.();
  await killed;
  expect(clock.pending).toBe(0);
});

test('it gives up in time, with an Event (R106)', async () => {
  const { clock, events, deps } = setUp();
  const killed = killPodNow(deps, testPod({ uid: 'u', terminationGracePeriodSeconds: 20 }), {});
  const outcome = expect(killed).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'timeout waiting to kill pod',
  });
  await clock.advance(30_000);
  await outcome;
  expect(events).toEqual([
    'Warning ExceededGracePeriod Container runtime did not kill the pod within specified grace period.',
  ]);
});

test.for([
  { says: 'its own word', options: { gracePeriodSeconds: 40 }, ms: 60_000 },
  { says: 'the pod', options: {}, ms: 30_000 },
])('how long a killer waits is said by $says', async ({ options, ms }) => {
  const { clock, events, deps } = setUp();
  const killed = killPodNow(deps, testPod({ uid: 'u', terminationGracePeriodSeconds: 20 }), options);
  killed.catch(() => undefined);
  await clock.advance(ms - 1);
  expect(events).toEqual([]);
  await clock.advance(1);
  expect(events).toHaveLength(1);
});
