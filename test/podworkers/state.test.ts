import { expectTypeOf, test } from 'vitest';
import {
  endingAt,
  type FinishedState,
  firstState,
  type PodState,
  type TerminatedState,
  type TerminatingState,
  workTypeOf,
} from '../../src/podworkers/state.ts';
import { expect } from 'vitest';

test('what cannot come about cannot be written down', () => {
  const sync = firstState('web_ns', 0);
  // @ts-expect-error -- a pod that runs has no reason to end
  const deletedButRunning: PodState = { ...sync, deleted: true } satisfies PodState;
  // @ts-expect-error -- an end has an instant
  const endless: TerminatingState = { ...sync, phase: 'terminating' };
  // @ts-expect-error -- finished means ended
  const finishedButRunning: FinishedState = { ...sync, ...endingAt(0), phase: 'finished' };
  expect([deletedButRunning, endless, finishedButRunning]).toHaveLength(3);
  expectTypeOf<TerminatedState['notify']>().toEqualTypeOf<readonly []>();
});

test('a finished pod counts as terminated (R82)', () => {
  const ended = { ...firstState('web_ns', 0), ...endingAt(1), terminatedAt: 2 };
  expect(workTypeOf({ ...ended, phase: 'finished' })).toBe('terminated');
  expect(workTypeOf(firstState('web_ns', 0))).toBe('sync');
});
