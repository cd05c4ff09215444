import { expect, test } from 'vitest';
import {
  inDeletionOrder,
  isAvailable,
  nextAvailability,
} from '../../../src/controllermanager/workload/pods.ts';
import type { Pod } from '../../../src/controllermanager/workload/types.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString().replace('.000', '');

interface Look {
  readonly node?: string;
  readonly phase?: string;
  readonly readyFor?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly age?: number;
}
const pod = (
  name: string,
  { node = 'n', phase = 'Running', readyFor, cost, restarts = 0, age = 1000 }: Look,
): Pod => ({
  metadata: {
    name,
    uid: name,
    creationTimestamp: ago(age),
    ...(cost !== undefined && { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
  },
  spec: { containers: [], nodeName: node },
  status: {
    phase,
    containerStatuses: [{ name: 'c', image: '', imageID: '', ready: true, restartCount: restarts }],
    ...(readyFor !== undefined && {
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(readyFor) }],
    }),
  },
});

test('a scale-down deletes unassigned, pending, unready, cheap, crowded, young, restarted pods first', () => {
  const order = [
    pod('unassigned', { node: '', phase: 'Pending' }),
    pod('pending', { phase: 'Pending' }),
    pod('unready', {}),
    pod('cheap', { readyFor: 900, cost: '-5', node: 'other' }),
    pod('young', { readyFor: 10 }),
    pod('restarted', { readyFor: 900, restarts: 3 }),
    pod('old', { readyFor: 900, restarts: 1, age: 1000 }),
    pod('alone', { readyFor: 10, node: 'other' }),
    pod('dear', { readyFor: 900, cost: '7' }),
  ];
  const names = (pods: readonly Pod[]): (string | undefined)[] => pods.map(({ metadata }) => metadata?.name);
  expect(names(inDeletionOrder([...order].reverse(), order, now))).toEqual(names(order));
});

test('a pod is available once it has been ready long enough', () => {
  const ready = pod('p', { readyFor: 10 });
  expect(isAvailable(ready, 10, now)).toBe(true);
  expect(isAvailable(ready, 11, now)).toBe(false);
  expect(isAvailable(pod('p', {}), 0, now)).toBe(false);
  expect(nextAvailability([ready, pod('q', { readyFor: 4 })], 12, now)).toBe(2000);
  expect(nextAvailability([ready], 5, now)).toBeUndefined();
});
