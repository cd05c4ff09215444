import { expect, test } from 'vitest';
import { requestedResizes } from '../../src/agent/requested-resizes.ts';
import type { Container, Pod } from '../../src/kube/types.ts';

const podOf = (resources: Container['resources'], more: Partial<Container> = {}): Pod => ({
  spec: {
    containers: [{ name: 'c', ...(resources && { resources }) }],
    initContainers: [{ name: 'i', ...more }],
  },
});

test.for([
  { old: { requests: { cpu: '1' } }, next: { requests: { cpu: '1000m' } }, told: [] },
  { old: undefined, next: { limits: { memory: '1Gi' } }, told: ['memory limits add'] },
  {
    old: { requests: { cpu: '1', memory: '1' } },
    next: {},
    told: ['memory requests remove', 'cpu requests remove'],
  },
  { old: { requests: { cpu: '1' } }, next: { requests: { cpu: '2' } }, told: ['cpu requests increase'] },
  { old: { limits: { cpu: '2' } }, next: { limits: { cpu: '1' } }, told: ['cpu limits decrease'] },
  { old: { limits: { 'example.com/gpu': '2' } }, next: { limits: { 'example.com/gpu': '1' } }, told: [] },
])('from $old to $next is $told', ({ old, next, told }) => {
  const found = requestedResizes(podOf(old), podOf(next));
  expect(
    found.map(({ resource, requirement, operation }) => `${resource} ${requirement} ${operation}`),
  ).toEqual(told);
});

test('an init container counts where it goes on beside the others', () => {
  const resources = { requests: { cpu: '1' } };
  expect(requestedResizes(podOf({}), podOf({}, { resources }))).toEqual([]);
  const restartPolicy = 'Always';
  expect(
    requestedResizes(podOf({}, { restartPolicy }), podOf({}, { restartPolicy, resources })),
  ).toHaveLength(1);
});
