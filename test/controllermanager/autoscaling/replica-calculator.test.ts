import { expect, test } from 'vitest';
import {
  type CalculatorInput,
  proposeReplicas,
} from '../../../src/controllermanager/autoscaling/replica-calculator.ts';
import { milliOf } from '../../../src/controllermanager/autoscaling/resource-metrics.ts';
import type { Pod } from '../../../src/controllermanager/workload/types.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
interface PodState {
  readonly phase?: string;
  readonly ready?: string;
  readonly deleted?: boolean;
  readonly start?: string;
}
const pod = (
  name: string,
  { phase = 'Running', ready = 'True', deleted, start = '2026-01-01T00:00:00Z' }: PodState = {},
): Pod => ({
  metadata: { name, ...(deleted && { deletionTimestamp: start }) },
  spec: {
    containers: [
      { name: 'main', resources: { requests: { cpu: '800m' } } },
      { name: 'side', resources: { requests: { cpu: '200m' } } },
    ],
  },
  status: {
    phase,
    startTime: start,
    conditions: [{ type: 'Ready', status: ready, lastTransitionTime: start }],
  },
});
const propose = (uses: Readonly<Record<string, number>>, more: Partial<CalculatorInput> = {}) =>
  proposeReplicas({
    pods: Object.keys(uses).map((name) => pod(name)),
    metrics: new Map(Object.entries(uses).map(([name, value]) => [name, { value, at: now, window: 30_000 }])),
    resource: 'cpu',
    target: { utilization: 50 },
    currentReplicas: Object.keys(uses).length,
    tolerances: { up: 0.1, down: 0.1 },
    now,
    milli: milliOf,
    ...more,
  });

test.each([
  ['twice the target doubles', { a: 1000, b: 1000 }, { replicas: 4, utilization: 100, averageValue: 1000 }],
  [
    'half of it halves',
    { a: 250, b: 250, c: 250, d: 250 },
    { replicas: 2, utilization: 25, averageValue: 250 },
  ],
  ['a tenth more is tolerated', { a: 550, b: 550 }, { replicas: 2, utilization: 55, averageValue: 550 }],
  ['more is not', { a: 560, b: 560 }, { replicas: 3, utilization: 56, averageValue: 560 }],
])('%s', (_what, uses, expected) => {
  expect(propose(uses)).toEqual(expected);
});

test('an average value is a target too', () => {
  expect(propose({ a: 300, b: 500 }, { target: { averageValue: 100 } })).toEqual({
    replicas: 8,
    averageValue: 400,
  });
});

test('pods without metrics use nothing when more are needed, and their request when fewer would do', () => {
  const pods = ['a', 'b', 'c'].map((name) => pod(name));
  const of = (value: number) => new Map([['a', { value, at: now, window: 30_000 }]]);
  // 1 of 3 pods at 200 %: 67 % of all
  expect(propose({}, { pods, metrics: of(2000), currentReplicas: 3 }).replicas).toBe(4);
  expect(propose({}, { pods, metrics: of(100), currentReplicas: 3 }).replicas).toBe(3);
});

test('pods that start use nothing yet, pods that end do not count', () => {
  const young = pod('b', { start: '2026-01-01T00:59:50Z' });
  const uses = { a: 1000, b: 4000, c: 4000, d: 4000 };
  const pods = [pod('a'), young, pod('c', { deleted: true }), pod('d', { phase: 'Failed' })];
  // 100 % and 0 %: the target
  expect(propose(uses, { pods, currentReplicas: 2 }).replicas).toBe(2);
});

test('missing pods and metrics are errors', () => {
  expect(() => propose({}, { pods: [] })).toThrow(
    'no pods returned by selector while calculating replica count',
  );
  expect(() => propose({}, { pods: [pod('a')] })).toThrow(
    'did not receive metrics for targeted pods (pods might be unready)',
  );
  expect(() => propose({ a: 1 }, { resource: 'memory' })).toThrow(
    'missing request for memory in container main of Pod a',
  );
  expect(() => propose({ a: 1 }, { container: 'x' })).toThrow('container x not found in Pod a');
});
