import { crashLoopBackoff } from '../../../base/backoff.ts';
import type { BackOffMachine } from '../machines.ts';
import { check, type Replay } from '../recording.ts';

interface Op {
  readonly op:
    'next' | 'isInBackOffSince' | 'isInBackOffSinceUpdate' | 'restartAttempt' | 'gc' | 'reset' | 'get';
  readonly id: string;
  readonly eventMs: number;
}

interface History {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly kind: 'crashLoop' | 'generic';
  readonly steps: readonly { readonly atMs: number; readonly op: Op; readonly expect: object }[];
}

export const replay: Replay = (line, _header, machines) => {
  const { initialMs, maxMs, kind, steps } = line as unknown as History;
  let now = 0;
  const { expiryMs } = crashLoopBackoff;
  const options = { initialMs, maxMs, ...(kind === 'crashLoop' && { expiryMs }) };
  const backoff = machines.backOff({ now: () => now }, options);
  for (const [step, { atMs, op, expect }] of steps.entries()) {
    now = atMs;
    const answer = perform(backoff, op);
    const delayMs = { k0: backoff.get('k0'), k1: backoff.get('k1') };
    const mismatch = check(expect, { ...answer, delayMs }, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};

function perform(backoff: BackOffMachine, { op, id, eventMs }: Op): object {
  switch (op) {
    case 'next':
      backoff.next(id, eventMs);
      return {};
    case 'isInBackOffSince':
      return { inBackOff: backoff.isInBackOffSince(id, eventMs) };
    case 'isInBackOffSinceUpdate':
      return { inBackOff: backoff.isInBackOffSinceUpdate(id, eventMs) };
    case 'restartAttempt': {
      const retryAtMs = backoff.tryRestart(id, eventMs);
      return { inBackOff: retryAtMs !== undefined, retryAtMs };
    }
    case 'gc':
      backoff.gc();
      return {};
    case 'reset':
      backoff.reset(id);
      return {};
    case 'get':
      return {};
  }
}
