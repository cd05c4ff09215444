import { expect, test } from 'vitest';
import type { Pod, PodCondition, PodStatus } from '../../src/kube/types.ts';
import { mergePodStatus } from '../../src/status/merge.ts';

const [before, now] = ['2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'];
const pod: Pod = { metadata: { generation: 2 } };
const condition = (type: string, extra: object = {}): PodCondition => ({ type, status: 'True', ...extra });

const merged = (old: PodStatus, next: PodStatus, couldHaveRunningContainers = false): PodStatus =>
  mergePodStatus(pod, old, next, { couldHaveRunningContainers, now });

test('what the kubelet says goes over what the server has, and nothing of the old is left (R200)', () => {
  const old = { phase: 'Pending', reason: 'r', message: 'm', hostIP: '192.0.2.1' };
  expect(merged(old, { phase: 'Running', podIP: '10.0.0.1' })).toEqual({
    phase: 'Running',
    podIP: '10.0.0.1',
    conditions: [],
  });
});

test('claims are the server’s, whatever the kubelet says (R200)', () => {
  const [theirs, ours] = [[{ name: 'theirs' }], [{ name: 'ours' }]];
  const [extended, another] = [{ resourceClaimName: 'theirs' }, { resourceClaimName: 'ours' }] as object[];
  const old = { resourceClaimStatuses: theirs, extendedResourceClaimStatus: extended } as PodStatus;
  const next = { resourceClaimStatuses: ours, extendedResourceClaimStatus: another } as PodStatus;
  expect(merged(old, next)).toEqual({ ...old, conditions: [] });
  expect(merged({}, next)).toEqual({ conditions: [] });
});

test('conditions of others stay where they are, ours are replaced, foreign ones of the kubelet do not get in (R200)', () => {
  const old = { conditions: [condition('x'), condition('Ready', { reason: 'old' }), condition('y')] };
  const next = {
    conditions: [
      condition('Initialized'),
      condition('z'),
      condition('Ready'),
      condition('x', { reason: 'z' }),
    ],
  };
  expect(merged(old, next).conditions).toEqual([
    condition('x'),
    condition('y'),
    condition('Initialized'),
    condition('Ready'),
  ]);
  expect(merged({}, {}).conditions).toEqual([]);
});

const target = (extra: object = {}): PodCondition => condition('DisruptionTarget', extra);

test.for<[says: string, old: PodStatus, next: PodStatus, running: boolean, told: PodCondition[]]>([
  [
    'at the end, with the time of telling',
    { phase: 'Running' },
    { phase: 'Failed' },
    false,
    [target({ lastTransitionTime: now })],
  ],
  [
    'at the end, with the time that the server has',
    { phase: 'Running', conditions: [target({ reason: 'theirs', lastTransitionTime: before })] },
    { phase: 'Failed' },
    false,
    [target({ lastTransitionTime: before })],
  ],
  [
    'at the end, in another sense than the server has it',
    {
      phase: 'Running',
      conditions: [target({ status: 'False', lastTransitionTime: before }), condition('x')],
    },
    { phase: 'Failed' },
    false,
    [target({ lastTransitionTime: now }), condition('x')],
  ],
  ['not before the end', { phase: 'Pending' }, { phase: 'Running' }, false, []],
  ['not while a container could run', { phase: 'Running' }, { phase: 'Failed' }, true, []],
  ['not after the end', { phase: 'Failed' }, { phase: 'Failed' }, false, []],
])('that the pod was disrupted is told %s (R200, R201)', ([, old, next, running, told]) => {
  const conditions = [target(), condition('foreign')];
  expect(merged(old, { ...next, conditions }, running).conditions).toEqual(told);
});

test.for<[says: string, old: PodStatus, next: PodStatus, told: PodStatus]>([
  [
    'an end',
    { phase: 'Running' },
    { phase: 'Failed', reason: 'r', message: 'm', podIP: 'ip' },
    { phase: 'Running', podIP: 'ip' },
  ],
  [
    'an end, so that the server’s words stay',
    { phase: 'Running', reason: 'a', message: 'b' },
    { phase: 'Succeeded', reason: 'r', message: 'm' },
    { phase: 'Running', reason: 'a', message: 'b' },
  ],
  ['an end that came before any phase', {}, { phase: 'Failed', reason: 'r' }, {}],
  [
    'nothing of a pod that runs',
    { phase: 'Pending', reason: 'a' },
    { phase: 'Running', message: 'm' },
    { phase: 'Running', message: 'm' },
  ],
  [
    'nothing of an end that is known',
    { phase: 'Failed', reason: 'a' },
    { phase: 'Failed', reason: 'r' },
    { phase: 'Failed', reason: 'r' },
  ],
])('while a container could run, of what is new is withheld: %s (R201)', ([, old, next, told]) => {
  expect(merged(old, next, true)).toStrictEqual({ ...told, conditions: [] });
});

test('with an end that is withheld claims are the server’s too (R200, R201)', () => {
  const old = { resourceClaimStatuses: [{ name: 'theirs' }] };
  expect(merged(old, { phase: 'Failed', resourceClaimStatuses: [] }, true)).toEqual({
    ...old,
    conditions: [],
  });
});

const types = ['ContainersReady', 'Ready'] as const;
const ended = (type: string, reason: string, extra: object = {}): PodCondition => ({
  type,
  observedGeneration: 2,
  status: 'False',
  reason,
  lastTransitionTime: now,
  ...extra,
});

test.for<[phase: string, given: PodCondition[], told: PodCondition[]]>([
  [
    'Failed',
    types.map((type) => condition(type, { lastTransitionTime: before })),
    types.map((type) => ended(type, 'PodFailed')),
  ],
  [
    'Succeeded',
    [condition('Ready')],
    [ended('Ready', 'PodCompleted'), ended('ContainersReady', 'PodCompleted')],
  ],
  ['Succeeded', [condition('ContainersReady')], types.map((type) => ended(type, 'PodCompleted'))],
  [
    'Failed',
    [condition('Ready'), condition('ContainersReady', { status: 'False', lastTransitionTime: before })],
    [ended('Ready', 'PodFailed'), ended('ContainersReady', 'PodFailed', { lastTransitionTime: before })],
  ],
  [
    'Failed',
    types.map((type) => condition(type, { status: 'False' })),
    types.map((type) => condition(type, { status: 'False' })),
  ],
  ['Running', types.map((type) => condition(type)), types.map((type) => condition(type))],
])('a pod that is told as %s is never ready (R202) %#', ([phase, conditions, told]) => {
  expect(merged({ phase: 'Running' }, { phase, conditions }).conditions).toEqual(told);
});
