import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Pod } from '../../src/kube/types.ts';
import { Remains } from '../../src/pods/remains.ts';
import type { RuntimePod } from '../../src/provider/runtime-pod.ts';

const podOf = (uid: string): Pod => ({ metadata: { uid, name: uid, namespace: 'ns' } });
const stopped = (uid: string): RuntimePod => ({
  uid,
  name: uid,
  namespace: 'ns',
  containers: [],
  sandboxes: [],
});

function bed(deletePod: (uid: string, signal: AbortSignal) => Promise<void> = async () => undefined) {
  const clock = new FakeClock(1000);
  const calls: string[] = [];
  const removed: string[] = [];
  const events: string[] = [];
  const remains = new Remains({
    provider: {
      deletePod: ({ uid }, _pod, signal) => {
        calls.push(`${clock.now()} ${uid}`);
        return deletePod(uid, signal);
      },
    },
    clock,
    logger: silentLogger,
    recorder: { event: (_pod, _type, reason, message) => void events.push(`${reason}: ${message}`) },
    removed: (uid) => void removed.push(uid),
  });
  return { clock, calls, removed, events, remains };
}

test('what is left of a pod is removed once, and its API object may go then', async () => {
  const { remains, calls, removed } = bed();
  expect(remains.areGone(podOf('a'))).toBe(false);
  expect(remains.areGone(podOf('a'))).toBe(false);
  await settle();
  expect(removed).toEqual(['a']);
  expect(remains.areGone(podOf('a'))).toBe(true);
  expect(calls).toEqual(['1000 a']);
});

// users-ask 84: a remote delete that failed was dropped from memory, and the job ran on for ever
test('a removal that fails is tried again with a growing delay until it succeeds', async () => {
  let failures = 100;
  const { clock, remains, calls, events } = bed(async () => {
    if (failures-- > 0) throw new Error('the queue does not answer');
  });
  for (let second = 0; second < 6000; second++) {
    remains.areGone(podOf('a'));
    await clock.advance(1000);
  }
  expect(calls).toHaveLength(101);
  expect(calls.slice(0, 4)).toEqual(['1000 a', '2000 a', '4000 a', '8000 a']);
  expect(remains.areGone(podOf('a'))).toBe(true);
  expect(events[0]).toBe(
    'FailedDeletePod: failed to remove the resources of the pod at the provider: the queue does not answer',
  );
}, 30_000);

test('a removal that hangs is given up after 30 s and told so', async () => {
  const aborted: boolean[] = [];
  const { clock, remains, events } = bed(
    (_uid, signal) =>
      new Promise((_resolve) => {
        signal.addEventListener('abort', () => void aborted.push(true));
      }),
  );
  remains.areGone(podOf('a'));
  await clock.advance(30_000);
  expect(events).toEqual([
    'FailedDeletePod: failed to remove the resources of the pod at the provider: no answer within 30 s',
  ]);
  expect(aborted).toEqual([true]);
  expect(clock.pending).toBe(0);
});

test('a stopped pod that nobody wants is removed when two listings in a row showed it', async () => {
  const { remains, calls } = bed();
  const isWanted = (uid: string): boolean => uid === 'wanted';
  remains.sweep([stopped('a'), stopped('wanted')], isWanted);
  remains.sweep([stopped('wanted')], isWanted);
  remains.sweep([stopped('a')], isWanted);
  await settle();
  expect(calls).toEqual([]);
  remains.sweep([stopped('a')], isWanted);
  await settle();
  expect(calls).toEqual(['1000 a']);
});

test('a pod that is still listed after its removal is removed again', async () => {
  const { clock, remains, calls } = bed();
  const isWanted = (): boolean => false;
  for (let pass = 0; pass < 3; pass++) {
    remains.sweep([stopped('a')], isWanted);
    await clock.advance(2000);
  }
  expect(calls).toEqual(['3000 a', '5000 a']);
});

test('what runs is left to the workers', async () => {
  const { remains, calls } = bed();
  const running = { ...stopped('a'), containers: [{ id: 'c', name: 'c', state: 'running' as const }] };
  for (let pass = 0; pass < 3; pass++) remains.sweep([running], () => false);
  await settle();
  expect(calls).toEqual([]);
});
