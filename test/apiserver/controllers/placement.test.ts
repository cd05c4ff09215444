import { expect, test } from 'vitest';
import { bestNode, misfit, noFit, pinnedNode } from '../../../src/apiserver/controllers/placement.ts';

const node = (name: string, spec: object = {}, ready = 'True'): Record<string, unknown> => ({
  metadata: { name, labels: { disk: name } },
  spec,
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const pod = (spec: object = {}): Record<string, unknown> => ({ metadata: { name: 'p' }, spec });
const gpu = { taints: [{ key: 'gpu', effect: 'NoSchedule' }] };
const exists = { operator: 'Exists' };

test.each([
  ['ready', pod(), node('a'), undefined],
  ['not ready', pod(), node('a', {}, 'False'), 'node(s) had untolerated taint(s)'],
  ['not ready, tolerated', pod({ tolerations: [exists] }), node('a', {}, 'Unknown'), undefined],
  ['cordoned', pod(), node('a', { unschedulable: true }), 'node(s) were unschedulable'],
  ['cordoned, tolerated', pod({ tolerations: [exists] }), node('a', { unschedulable: true }), undefined],
  ['tainted', pod(), node('a', gpu), 'node(s) had untolerated taint(s)'],
  [
    'not selected',
    pod({ nodeSelector: { disk: 'b' } }),
    node('a'),
    "node(s) didn't match Pod's node affinity/selector",
  ],
])('%s', (_what, one, on, reason) => {
  expect(misfit(one, on)).toBe(reason);
});

test('the emptiest node that fits is taken', () => {
  const counts: Record<string, number> = { a: 0, b: 2, c: 1 };
  const nodes = [node('a', gpu), node('b'), node('c')];
  expect(bestNode(pod(), nodes, (name) => counts[name] ?? 0)).toBe('c');
});

test('a message counts the reasons', () => {
  expect(noFit(pod(), [node('a', gpu), node('b', gpu), node('c', { unschedulable: true })])).toBe(
    '0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s).',
  );
  expect(noFit(pod(), [])).toBe('no nodes available to schedule pods');
});

test('affinity by name pins a pod', () => {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n7'] }];
  const required = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
  };
  expect(pinnedNode(pod({ affinity: { nodeAffinity: required } }))).toBe('n7');
  expect(pinnedNode(pod())).toBeUndefined();
});
