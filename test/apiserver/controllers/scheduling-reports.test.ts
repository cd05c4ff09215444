import { expect, test } from 'vitest';
import { unschedulableConditions } from '../../../src/apiserver/controllers/scheduling-reports.ts';

const at = Date.UTC(2026, 0, 1);
const pod = (...conditions: readonly object[]): Record<string, unknown> => ({
  metadata: { name: 'p', generation: 2 },
  status: { conditions },
});
const gated = {
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: '2025-01-01T00:00:00Z',
  reason: 'SchedulingGated',
};
const other = { type: 'Other', status: 'True' };

test('the condition is added, with the time of now', () => {
  expect(unschedulableConditions(pod(other), 'no room', at)).toEqual([
    other,
    {
      type: 'PodScheduled',
      observedGeneration: 2,
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: '2026-01-01T00:00:00Z',
      reason: 'Unschedulable',
      message: 'no room',
    },
  ]);
});

test('another reason replaces it in its place, and the time stays while it is False', () => {
  const changed = unschedulableConditions(pod(gated, other), 'no room', at);
  expect(changed?.map(({ type }) => type)).toEqual(['PodScheduled', 'Other']);
  expect(changed?.[0]).toMatchObject({
    reason: 'Unschedulable',
    lastTransitionTime: gated.lastTransitionTime,
  });
});

test('nothing changes while it says the same', () => {
  const [condition = {}] = unschedulableConditions(pod(), 'no room', at) ?? [];
  expect(unschedulableConditions(pod(condition), 'no room', at + 60_000)).toBeUndefined();
  expect(unschedulableConditions(pod(condition), 'less room', at + 60_000)).toBeDefined();
});
