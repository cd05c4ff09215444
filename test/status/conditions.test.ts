import { describe, expect, test } from 'vitest';
import type { Container, ContainerState, ContainerStatus, Pod, PodCondition } from '../../src/kube/types.ts';
import { podSandboxChanged } from '../../src/provider/sandbox-changed.ts';
import {
  conditionOf,
  isConditionTrue,
  isOwnCondition,
  isSharedCondition,
  replaceOrAppend,
  updateCondition,
  withTransitionTime,
} from '../../src/status/condition-list.ts';
import {
  allContainersRestartingCondition,
  containersReadyCondition,
  initializedCondition,
  needsReadinessReconcile,
  ownCondition,
  readyCondition,
  readyToStartContainersCondition,
  restartsAllContainers,
} from '../../src/status/conditions.ts';
import { instanceOf, runtimeOf, statusOf } from './support/statuses.ts';

const [before, now] = ['2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'];
const condition = (type: string, status = 'True', extra: object = {}): PodCondition => ({
  type,
  status,
  ...extra,
});

describe('lists of conditions', () => {
  test.for([
    'PodScheduled',
    'Ready',
    'Initialized',
    'ContainersReady',
    'PodResizeInProgress',
    'PodResizePending',
    'PodReadyToStartContainers',
    'AllContainersRestarting',
  ])('%s is the kubelet’s own (R200)', (type) => {
    expect(isOwnCondition(type)).toBe(true);
    expect(isSharedCondition(type)).toBe(false);
  });

  test('DisruptionTarget is shared, and all the rest belong to others (R200)', () => {
    expect([isOwnCondition('DisruptionTarget'), isSharedCondition('DisruptionTarget')]).toEqual([
      false,
      true,
    ]);
    expect([isOwnCondition('example.com/gate'), isSharedCondition('example.com/gate')]).toEqual([
      false,
      false,
    ]);
  });

  test('a condition is found by its type, and is True only when it says so', () => {
    const conditions = [condition('A'), condition('B', 'False')];
    expect(conditionOf(conditions, 'B')).toBe(conditions[1]);
    expect(conditionOf(conditions, 'C')).toBeUndefined();
    expect(conditionOf(undefined, 'A')).toBeUndefined();
    expect(['A', 'B', 'C'].map((type) => isConditionTrue({ conditions }, type))).toEqual([
      true,
      false,
      false,
    ]);
    expect(isConditionTrue({}, 'A')).toBe(false);
  });

  test('a condition takes the place of the one of its type, else the last', () => {
    const [a, b, c] = [condition('A'), condition('B'), condition('C')];
    const next = condition('A', 'False');
    expect(replaceOrAppend([a, b], next)).toEqual([next, b]);
    expect(replaceOrAppend([b, a], next)).toEqual([b, next]);
    expect(replaceOrAppend([a, b], c)).toEqual([a, b, c]);
  });

  test.for<
    [
      says: string,
      old: PodCondition | undefined,
      next: PodCondition,
      at: string | undefined,
      changed: boolean,
    ]
  >([
    ['is new', undefined, condition('Ready'), now, true],
    ['turns', condition('Ready', 'False', { lastTransitionTime: before }), condition('Ready'), now, true],
    ['stays', condition('Ready', 'True', { lastTransitionTime: before }), condition('Ready'), before, false],
    [
      'stays without a time',
      condition('Ready'),
      condition('Ready', 'True', { lastTransitionTime: now }),
      undefined,
      false,
    ],
    [
      'stays, its empty reason left out',
      condition('Ready', 'True', { reason: '' }),
      condition('Ready'),
      undefined,
      false,
    ],
    [
      'has another reason',
      condition('Ready', 'True', { reason: 'a' }),
      condition('Ready', 'True', { reason: 'b' }),
      undefined,
      true,
    ],
    [
      'has another message',
      condition('Ready', 'True', { message: 'a' }),
      condition('Ready'),
      undefined,
      true,
    ],
    [
      'was probed',
      condition('Ready', 'True', { lastProbeTime: before }),
      condition('Ready'),
      undefined,
      true,
    ],
    [
      'has another generation',
      condition('Ready', 'True', { observedGeneration: 1 }),
      condition('Ready', 'True', { observedGeneration: 2 }),
      undefined,
      false,
    ],
  ])(
    'a condition that is set and %s: its time moves with its status alone (R197)',
    ([, old, next, at, changed]) => {
      const status = { phase: 'Running', ...(old && { conditions: [condition('A'), old] }) };
      const set = updateCondition(status, next, now);
      const { lastTransitionTime: _, ...timeless } = next;
      const told = { ...timeless, ...(at !== undefined && { lastTransitionTime: at }) };
      expect(set).toEqual({
        status: { ...status, conditions: [...(old ? [condition('A')] : []), told] },
        changed,
      });
    },
  );

  test('a condition with the time it is to have is the same object', () => {
    const timed = condition('A', 'True', { lastTransitionTime: now });
    expect(withTransitionTime(timed, now)).toBe(timed);
    expect(withTransitionTime(timed, before)).toEqual({ ...timed, lastTransitionTime: before });
    for (const none of [null, undefined]) {
      expect(withTransitionTime(timed, none)).toEqual(condition('A'));
      for (const timeless of [condition('A'), condition('A', 'True', { lastTransitionTime: null })])
        expect(withTransitionTime(timeless, none)).toBe(timeless);
    }
  });
});

const container = (name: string, extra: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  ...extra,
});
const sidecar = (name: string): Container => container(name, { restartPolicy: 'Always' });
const podOf = (containers: Container[], initContainers?: Container[]): Pod => ({
  spec: { containers, ...(initContainers && { initContainers }) },
});
const [running, waiting, ended] = [{ running: {} }, { waiting: {} }, { terminated: { exitCode: 0 } }];
const readyStatus = (name: string, ready = true, state: ContainerState = running): ContainerStatus => ({
  ...statusOf(name, state),
  ready,
});

/** What a condition tells, without its type. */
const told = ({ status, reason, message }: PodCondition): unknown[] =>
  [status, reason, message].filter((text) => text !== undefined);

test('a condition of our own tells for which generation it was made; none is none (R197)', () => {
  expect(ownCondition({ metadata: { generation: 3 } }, 'Ready', 'True')).toEqual(
    condition('Ready', 'True', { observedGeneration: 3 }),
  );
  expect(ownCondition({ metadata: { generation: 0 } }, 'Ready', 'True')).toEqual(condition('Ready'));
  expect(ownCondition({}, 'Ready', 'False', { reason: 'r' })).toEqual(
    condition('Ready', 'False', { reason: 'r' }),
  );
});

type Row = [says: string, pod: Pod, statuses: ContainerStatus[] | undefined, phase: string, told: unknown[]];

const two = podOf([container('a'), container('b')]);
const unready = (message: string): unknown[] => ['False', 'ContainersNotReady', message];

test.for<Row>([
  ['nothing is known', two, undefined, 'Running', ['False', 'UnknownContainerStatuses']],
  ['there is no spec', {}, [], 'Running', ['True']],
  ['all are ready', two, [readyStatus('a'), readyStatus('b')], 'Running', ['True']],
  [
    'one is not',
    two,
    [readyStatus('a'), readyStatus('b', false)],
    'Running',
    unready('containers with unready status: [b]'),
  ],
  ['all are unknown', two, [], 'Running', unready('containers with unknown status: [a b]')],
  [
    'one is unknown, one not ready',
    two,
    [readyStatus('b', false)],
    'Running',
    unready('containers with unknown status: [a], containers with unready status: [b]'),
  ],
  [
    'a sidecar is not ready; other init containers do not count',
    podOf([container('a')], [container('i'), sidecar('s')]),
    [readyStatus('a'), readyStatus('s', false), readyStatus('i', false)],
    'Running',
    unready('containers with unready status: [s]'),
  ],
  ['the pod has failed', two, [readyStatus('a')], 'Failed', ['False', 'PodFailed']],
  [
    'the pod has succeeded',
    two,
    [readyStatus('a'), readyStatus('b', false)],
    'Succeeded',
    ['False', 'PodCompleted'],
  ],
  [
    'the pod has succeeded, but one is unknown',
    two,
    [readyStatus('a')],
    'Succeeded',
    unready('containers with unknown status: [b]'),
  ],
])('ContainersReady and Ready when %s (R216, R217)', ([, pod, statuses, phase, says]) => {
  const [containersReady, ready] = [
    containersReadyCondition(pod, statuses, phase),
    readyCondition(pod, [], statuses, phase),
  ];
  expect([containersReady.type, ready.type]).toEqual(['ContainersReady', 'Ready']);
  expect(told(containersReady)).toEqual(says);
  expect(told(ready)).toEqual(says);
});

const gated = (...types: string[]): Pod => ({
  spec: { containers: [container('a')], readinessGates: types.map((conditionType) => ({ conditionType })) },
});
const notReady = (message: string): unknown[] => ['False', 'ReadinessGatesNotReady', message];

test.for<[says: string, conditions: PodCondition[] | undefined, told: unknown[]]>([
  ['are True', [condition('x'), condition('y')], ['True']],
  [
    'are not there',
    undefined,
    notReady(
      'corresponding condition of pod readiness gate "x" does not exist., corresponding condition of pod readiness gate "y" does not exist.',
    ),
  ],
  [
    'are False or Unknown',
    [condition('x', 'False'), condition('y', 'Unknown')],
    notReady(
      'the status of pod readiness gate "x" is not "True", but False, the status of pod readiness gate "y" is not "True", but Unknown',
    ),
  ],
])('a pod whose gates %s (R217)', ([, conditions, says]) => {
  expect(told(readyCondition(gated('x', 'y'), conditions, [readyStatus('a')], 'Running'))).toEqual(says);
});

const setup = podOf([container('a')], [container('i'), sidecar('s')]);
const incomplete = (message: string): unknown[] => ['False', 'ContainersNotInitialized', message];

test.for<Row>([
  ['nothing is known', setup, undefined, 'Pending', ['False', 'UnknownContainerStatuses']],
  ['there is nothing to wait for', podOf([container('a')]), undefined, 'Pending', ['True']],
  ['there is no spec', {}, undefined, 'Pending', ['True']],
  ['none has begun', setup, [], 'Pending', incomplete('containers with unknown status: [i s]')],
  [
    'one is not done, the sidecar not started',
    setup,
    [readyStatus('i', false), statusOf('s', running)],
    'Pending',
    incomplete('containers with incomplete status: [i s]'),
  ],
  ['all are done', setup, [readyStatus('i'), statusOf('s', running, {}, true)], 'Pending', ['True']],
  [
    'a regular one has started',
    setup,
    [readyStatus('i', false), statusOf('a', running)],
    'Running',
    ['True'],
  ],
  ['a regular one has ended', setup, [statusOf('a', ended)], 'Running', ['True']],
  [
    'the regular one waits',
    setup,
    [readyStatus('i'), statusOf('s', ended), statusOf('a', waiting)],
    'Pending',
    incomplete('containers with incomplete status: [s]'),
  ],
  [
    'the pod has succeeded',
    setup,
    [readyStatus('i', false), statusOf('s', ended)],
    'Succeeded',
    ['True', 'PodCompleted'],
  ],
  [
    'the pod has succeeded, but one is unknown',
    setup,
    [readyStatus('i')],
    'Succeeded',
    incomplete('containers with unknown status: [s]'),
  ],
])('Initialized when %s (R218)', ([, pod, statuses, phase, says]) => {
  const initialized = initializedCondition(pod, {}, statuses, phase);
  expect(initialized.type).toBe('Initialized');
  expect(told(initialized)).toEqual(says);
});

test('Initialized stays once it was True (R218)', () => {
  const [was, wasNot] = [[condition('Initialized')], [condition('Initialized', 'False')]];
  expect(told(initializedCondition(setup, { conditions: was }, [], 'Pending'))).toEqual(['True']);
  expect(told(initializedCondition(setup, { conditions: wasNot }, [], 'Pending'))[0]).toBe('False');
});

test('PodReadyToStartContainers is True while the sandbox serves (R154)', () => {
  const [ready, none] = [runtimeOf([]), { ...runtimeOf([]), sandboxStatuses: [] }];
  expect(podSandboxChanged(setup, ready).changed).toBe(false);
  const [sandbox] = ready.sandboxStatuses;
  const last = sandbox && [{ ...sandbox, state: 'SANDBOX_NOTREADY' as const, attempt: 2 ** 32 - 1 }];
  expect(podSandboxChanged(setup, { ...ready, sandboxStatuses: last ?? [] }).attempt).toBe(0);
  expect(readyToStartContainersCondition(setup, ready)).toEqual(condition('PodReadyToStartContainers'));
  expect(readyToStartContainersCondition(setup, none)).toEqual(
    condition('PodReadyToStartContainers', 'False'),
  );
});

const rule = (action: string) => ({ action, exitCodes: { operator: 'In', values: [7] } });
const ruled = (name: string, action = 'RestartAllContainers'): Container =>
  container(name, { restartPolicy: 'Never', restartPolicyRules: [rule(action)] });
const exited = (name: string, exitCode: number) => instanceOf(name, 'exited', { exitCode });
const began = { conditions: [condition('AllContainersRestarting')] };
const restarting = ['True', 'RestartAllContainersStarted', 'container exited with restart policy rule'];

test.for<
  [
    says: string,
    pod: Pod,
    old: object,
    seen: ReturnType<typeof instanceOf>[],
    phase: string,
    told: unknown[],
    all: boolean,
  ]
>([
  ['nothing has ended', podOf([ruled('a')]), {}, [instanceOf('a', 'running')], 'Running', ['False'], false],
  ['an exit asks for it', podOf([ruled('a')]), {}, [exited('a', 7)], 'Running', restarting, true],
  [
    'an exit of an init container asks for it',
    podOf([], [ruled('i')]),
    {},
    [exited('i', 7)],
    'Running',
    restarting,
    true,
  ],
  [
    'the second container asks for it',
    podOf([container('b'), ruled('a')]),
    {},
    [exited('b', 7), exited('a', 7)],
    'Running',
    restarting,
    true,
  ],
  ['another exit does not', podOf([ruled('a')]), {}, [exited('a', 1)], 'Running', ['False'], false],
  [
    'an exit asked for it that was told before',
    podOf([ruled('a')]),
    { containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 7 } } }] },
    [exited('a', 137)],
    'Running',
    restarting,
    true,
  ],
  [
    'the rule asks for something else',
    podOf([ruled('a', 'Restart')]),
    {},
    [exited('a', 7)],
    'Running',
    ['False'],
    false,
  ],
  [
    'the newest instance runs',
    podOf([ruled('a')]),
    {},
    [instanceOf('a', 'running', { exitCode: 7 }), exited('a', 7)],
    'Running',
    ['False'],
    false,
  ],
  [
    'it goes on while old ones are there',
    podOf([ruled('a')]),
    began,
    [instanceOf('a', 'running')],
    'Running',
    restarting,
    true,
  ],
  ['none is left: this status still counts them', podOf([ruled('a')]), began, [], 'Running', ['False'], true],
  ['it is over', podOf([ruled('a')]), {}, [], 'Running', ['False'], false],
  ['there is no spec', {}, {}, [exited('a', 7)], 'Running', ['False'], false],
  ['the pod has failed', podOf([ruled('a')]), {}, [exited('a', 7)], 'Failed', ['False', 'PodFailed'], true],
  ['the pod has succeeded', podOf([ruled('a')]), began, [], 'Succeeded', ['False', 'PodCompleted'], true],
])('AllContainersRestarting when %s (R215)', ([, pod, old, seen, phase, says, all]) => {
  const runtime = runtimeOf(seen);
  const made = allContainersRestartingCondition(pod, old, runtime, phase);
  expect(made.type).toBe('AllContainersRestarting');
  expect(told(made)).toEqual(says);
  expect(restartsAllContainers(pod, old, runtime)).toBe(all);
});

test.for<[says: string, pod: Pod, needed: boolean]>([
  [
    'without gates',
    { spec: { containers: [] }, status: { conditions: [condition('Ready', 'False')] } },
    false,
  ],
  [
    'without gates that is shown unready wrongly',
    {
      spec: { containers: [] },
      status: { containerStatuses: [], conditions: [condition('Ready', 'False')] },
    },
    false,
  ],
  ['without a spec', {}, false],
  ['that the API does not know as ready or not', { ...gated('x'), status: {} }, false],
  ['without a status', gated('x'), false],
  [
    'whose gate opened',
    {
      ...gated('x'),
      status: {
        containerStatuses: [readyStatus('a')],
        conditions: [condition('Ready', 'False'), condition('x')],
      },
    },
    true,
  ],
  [
    'whose gate is open still',
    {
      ...gated('x'),
      status: { containerStatuses: [readyStatus('a')], conditions: [condition('Ready'), condition('x')] },
    },
    false,
  ],
  [
    'whose gate is shut still',
    {
      ...gated('x'),
      status: {
        containerStatuses: [readyStatus('a')],
        conditions: [
          condition('Ready', 'False', {
            message: 'the status of pod readiness gate "x" is not "True", but False',
          }),
          condition('x', 'False'),
        ],
      },
    },
    false,
  ],
  [
    'whose gate is shut in another way',
    {
      ...gated('x'),
      status: {
        containerStatuses: [readyStatus('a')],
        conditions: [condition('Ready', 'False'), condition('x', 'False')],
      },
    },
    true,
  ],
])('a pod %s is synced for its gates (R63)', ([, pod, needed]) => {
  expect(needsReadinessReconcile(pod)).toBe(needed);
});
