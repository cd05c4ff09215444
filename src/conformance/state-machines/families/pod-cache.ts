import { settle } from '../../../base/fake-clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { emptyStatus, PodCache } from '../../../pleg/pod-cache.ts';
import type { RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import { check, type Replay } from '../recording.ts';

interface Op {
  readonly op: 'set' | 'setObservedTime' | 'delete' | 'updateTime' | 'get' | 'getNewerThan';
  readonly uid: string;
  readonly ts: number;
  readonly newerThan: number;
  readonly waiter: string;
  readonly value: string;
  readonly error: boolean;
}

/** The identity of a status is its name. */
const identity = (status: RuntimePodStatus): string => status.name || 'default';

export const replay: Replay = async (line) => {
  const cache = new PodCache();
  const waiting = new Set<string>();
  let returned: Record<string, string> = {};
  const aborter = new AbortController();
  for (const [step, { op, expect }] of (line['steps'] as { op: Op; expect: object }[]).entries()) {
    returned = {};
    const actual = perform(
      cache,
      op,
      (waiter, answer) => {
        waiting.add(waiter);
        void answer
          .then(identity, (reason: unknown) => `error:${messageOf(reason)}`)
          .then((value) => {
            waiting.delete(waiter);
            returned[waiter] = value;
          });
      },
      aborter.signal,
    );
    await settle();
    const mismatch = check(expect, { ...actual, returned }, { step, operation: op });
    if (mismatch) return mismatch;
  }
  const mismatch = check(line['stillWaiting'], [...waiting].sort());
  aborter.abort();
  await settle();
  return mismatch ?? check(0, cache.waiting);
};

function perform(
  cache: PodCache,
  op: Op,
  open: (waiter: string, answer: Promise<RuntimePodStatus>) => void,
  signal: AbortSignal,
): object {
  switch (op.op) {
    case 'set':
      cache.set(
        op.uid,
        { ...emptyStatus(op.uid), name: op.value },
        op.error ? new Error(op.value) : undefined,
        op.ts,
      );
      return { updated: true };
    case 'setObservedTime':
      cache.setObservedTime(op.uid, op.ts);
      return {};
    case 'delete':
      cache.delete(op.uid);
      return {};
    case 'updateTime':
      cache.updateTime(op.ts);
      return {};
    case 'get':
      try {
        return { value: identity(cache.get(op.uid)) };
      } catch (reason) {
        return { value: `error:${messageOf(reason)}` };
      }
    case 'getNewerThan':
      open(op.waiter, cache.getNewerThan(op.uid, op.newerThan, signal));
      return {};
  }
}
