import { labelSelectorText } from '../../../src/apimachinery/selectors.ts';
import { expect, test } from 'vitest';
import { type Budget, budgetStatus, failedStatus } from '../../../src/controllermanager/policy/disruption.ts';
import type { Pod } from '../../../src/controllermanager/workload/types.ts';

const now = Date.UTC(2026, 0, 1, 12);
const pod = (name: string, isReady = true, metadata: object = {}): Pod => ({
  metadata: { name, ...metadata },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});
const budget = (spec: Budget['spec'], status?: Budget['status']): Budget => ({
  metadata: { name: 'b', generation: 3 },
  ...(spec && { spec }),
  ...(status && { status }),
});
const three = [pod('a'), pod('b'), pod('c', false)];

test.each([
  ['a number of pods', { minAvailable: 1 }, 0, [1, 2, 1, 3]],
  ['a share of the size', { minAvailable: '50%' }, 4, [0, 2, 2, 4]],
  ['unavailable ones', { maxUnavailable: 1 }, 3, [0, 2, 2, 3]],
  ['a share of unavailable ones, rounded up', { maxUnavailable: '10%' }, 3, [0, 2, 2, 3]],
  ['pods without a controller count for nothing', { maxUnavailable: 1 }, 0, [0, 2, 0, 0]],
  ['no limit', {}, 0, [0, 2, 0, 0]],
])('%s', (_what, spec, expected, counts) => {
  const { status } = budgetStatus(budget(spec), three, { expected, now });
  const { disruptionsAllowed = 0, currentHealthy, desiredHealthy, expectedPods } = status;
  expect([disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods]).toEqual(counts);
  const [condition] = status.conditions ?? [];
  expect(condition).toMatchObject({
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    observedGeneration: 3,
  });
});

test('a granted eviction counts until its pod is being deleted, for two minutes at most', () => {
  const at = (ms: number): string => new Date(now - ms).toISOString();
  const status = {
    currentHealthy: 3,
    desiredHealthy: 1,
    expectedPods: 3,
    disruptionsAllowed: 0,
    disruptedPods: { a: at(20_000), b: at(130_000), c: at(1000), gone: at(1000) },
  } as unknown as NonNullable<Budget['status']>;
  const pods = [pod('a'), pod('b'), pod('c', true, { deletionTimestamp: at(0) })];
  const plan = budgetStatus(budget({ minAvailable: 1 }, status), pods, { expected: 0, now });
  expect(Object.keys(plan.status.disruptedPods ?? {})).toEqual(['a']);
  expect(plan.after).toBe(100_000);
  expect(plan.notDeleted.map(({ metadata }) => metadata?.name)).toEqual(['b']);
  expect(plan.status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 });
});

test('a budget that cannot be computed grants nothing and says why', () => {
  const before = budgetStatus(budget({ minAvailable: 1 }), three, { expected: 0, now }).status;
  const failed = failedStatus(budget({ minAvailable: 1 }, before), 'found no controllers', now + 5000);
  expect(failed).toMatchObject({ disruptionsAllowed: 0, currentHealthy: 2, observedGeneration: 3 });
  expect(failed.conditions).toEqual([
    {
      type: 'DisruptionAllowed',
      status: 'False',
      reason: 'SyncFailed',
      message: 'found no controllers',
      observedGeneration: 3,
      lastTransitionTime: '2026-01-01T12:00:05Z',
    },
  ]);
});

test('a selector in an Event', () => {
  const matchExpressions = [{ key: 'k', operator: 'In', values: ['x', 'y'] }] as const;
  expect(labelSelectorText({ matchLabels: { b: '2', a: '1' }, matchExpressions })).toBe(
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}',
  );
});
