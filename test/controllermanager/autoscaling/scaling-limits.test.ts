import { expect, test } from 'vitest';
import { noPast, normalize, withChange } from '../../../src/controllermanager/autoscaling/scaling-limits.ts';

const now = 10_000_000;
const sizes = (current: number, desired: number) => ({ current, desired, min: 1, max: 100, now });

test.each([
  ['within the range', 3, 5, 5, 'DesiredWithinRange'],
  ['at most the double', 10, 50, 20, 'ScaleUpLimit'],
  ['4 from 1', 1, 50, 4, 'ScaleUpLimit'],
  ['the maximum', 80, 150, 100, 'TooManyReplicas'],
  ['the minimum', 3, 0, 1, 'TooFewReplicas'],
])('without a behavior: %s', (_what, current, desired, replicas, reason) => {
  const result = normalize(undefined, sizes(current, desired), noPast);
  expect([result.replicas, result.limited.reason]).toEqual([replicas, reason]);
});

test('the highest recommendation of 5 minutes holds', () => {
  const past = {
    ...noPast,
    recommendations: [
      { at: now - 200_000, replicas: 8 },
      { at: now - 301_000, replicas: 9 },
    ],
  };
  const result = normalize(undefined, sizes(10, 2), past);
  expect([result.replicas, result.able.reason]).toEqual([8, 'ScaleDownStabilized']);
  expect(result.past.recommendations.at(-1)).toEqual({ at: now, replicas: 2 });
});

test('policies limit the change in their period', () => {
  const behavior = {
    scaleUp: { policies: [{ type: 'Pods', value: 3, periodSeconds: 60 }] },
    scaleDown: {
      stabilizationWindowSeconds: 0,
      policies: [{ type: 'Percent', value: 10, periodSeconds: 60 }],
    },
  };
  expect(normalize(behavior, sizes(10, 20), noPast)).toMatchObject({
    replicas: 13,
    limited: { reason: 'ScaleUpLimit' },
  });
  const grown = withChange(noPast, 2, now - 30_000);
  expect(normalize(behavior, sizes(12, 20), grown).replicas).toBe(13);
  expect(normalize(behavior, sizes(12, 20), withChange(noPast, 2, now - 61_000)).replicas).toBe(15);
  expect(normalize(behavior, sizes(20, 1), noPast)).toMatchObject({
    replicas: 18,
    limited: { reason: 'ScaleDownLimit' },
  });
});

test('a disabled direction stays, Min takes the smaller change, and a window of increases waits', () => {
  const policies = [
    { type: 'Pods', value: 3, periodSeconds: 60 },
    { type: 'Percent', value: 100, periodSeconds: 60 },
  ];
  expect(
    normalize({ scaleDown: { selectPolicy: 'Disabled', stabilizationWindowSeconds: 0 } }, sizes(9, 1), noPast)
      .replicas,
  ).toBe(9);
  expect(normalize({ scaleUp: { selectPolicy: 'Min', policies } }, sizes(10, 50), noPast).replicas).toBe(13);
  const past = { ...noPast, recommendations: [{ at: now - 5000, replicas: 11 }] };
  const waiting = normalize({ scaleUp: { stabilizationWindowSeconds: 10 } }, sizes(10, 50), past);
  expect([waiting.replicas, waiting.able.reason]).toEqual([11, 'ScaleUpStabilized']);
});
