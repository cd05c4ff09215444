import fc from 'fast-check';
import { expect, test } from 'vitest';
import { effectiveGracePeriod } from '../../src/podworkers/grace-period.ts';
import { testPod } from './bench.ts';

interface Row {
  readonly says: string;
  readonly current?: number;
  readonly deletion?: number;
  readonly override?: number;
  readonly spec?: number;
  readonly grace: number;
  readonly shortened?: boolean;
}

const rows: readonly Row[] = [
  { says: 'nothing said: the spec counts (R102)', spec: 30, grace: 30 },
  { says: 'the deletion wins over the spec (R101)', deletion: 60, spec: 30, grace: 60 },
  { says: 'the kill shortens the deletion (R101)', deletion: 60, override: 5, grace: 5 },
  { says: 'the kill never lengthens (R103)', current: 5, override: 60, grace: 5 },
  { says: 'the spec never lengthens (R103)', current: 5, spec: 60, grace: 5 },
  { says: 'a shorter one is told as shortened (R104)', current: 30, override: 5, grace: 5, shortened: true },
  { says: 'an explicit 0 blocks the spec and becomes 1 (R102)', override: 0, spec: 30, grace: 1 },
  { says: 'a deletion of 0 lets the kill count', deletion: 0, override: 30, grace: 30 },
  {
    says: 'a deletion of 0 lets even a grace in force grow (R103, quirk)',
    current: 1,
    deletion: 0,
    override: 2,
    grace: 2,
    shortened: true,
  },
  { says: 'there is always a second (R103)', spec: 0, grace: 1 },
];

test.for(rows)('$says', ({ current = 0, deletion, override, spec, grace, shortened = false }) => {
  const pod = testPod({
    uid: 'u',
    terminationGracePeriodSeconds: spec ?? 0,
    ...(deletion !== undefined && { deletionGracePeriodSeconds: deletion }),
  });
  expect(effectiveGracePeriod({ current, pod, override })).toEqual({ gracePeriodSeconds: grace, shortened });
});

test('a pod that only the runtime knows has one second', () => {
  expect(effectiveGracePeriod({ current: 0, pod: undefined, override: undefined }).gracePeriodSeconds).toBe(
    1,
  );
});

test('without a deletion of 0 it never grows', () => {
  const seconds = fc.integer({ min: 1, max: 100 });
  fc.assert(
    fc.property(
      seconds,
      fc.option(seconds, { nil: undefined }),
      fc.option(fc.nat(100), { nil: undefined }),
      (current, deletion, override) => {
        const pod = testPod({
          uid: 'u',
          ...(deletion !== undefined && { deletionGracePeriodSeconds: deletion }),
        });
        const { gracePeriodSeconds } = effectiveGracePeriod({ current, pod, override });
        expect(gracePeriodSeconds).toBeLessThanOrEqual(current);
        expect(gracePeriodSeconds).toBeGreaterThanOrEqual(1);
      },
    ),
  );
});
