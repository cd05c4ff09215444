import { expect, test } from 'vitest';
import { configSourceAnnotation } from '../../src/kube/names.ts';
import type { ContainerStatus, Pod, PodCondition, PodSpec } from '../../src/kube/types.ts';
import {
  hasPodInitialized,
  illegalTransition,
  terminatedStatus,
  triedToStart,
  withTimes,
} from '../../src/status/transitions.ts';
import { bareStatusOf, statusOf } from './support/statuses.ts';

const [ended, failed] = [{ terminated: { exitCode: 0 } }, { terminated: { exitCode: 1 } }];
const [running, waiting] = [{ running: {} }, { waiting: {} }];
const container = (name: string, restartPolicy?: string) => ({
  name,
  image: 'i',
  ...(restartPolicy !== undefined && { restartPolicy }),
});
const ruled = (action: string, value: number) => ({
  ...container('a', 'Never'),
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [value] } }],
});

const refused = 'terminated container a attempted illegal transition to non-terminated state';

test.for<
  [says: string, spec: Partial<PodSpec>, old: object, next: object | undefined, fault: string | undefined]
>([
  ['ended for good, and runs', { restartPolicy: 'Never' }, ended, running, refused],
  ['failed for good, and waits', { restartPolicy: 'Never' }, failed, waiting, refused],
  ['ended for good, and says nothing any more', { restartPolicy: 'Never' }, ended, {}, refused],
  ['ended for good, and is ended', { restartPolicy: 'Never' }, ended, failed, undefined],
  ['ended for good, and is gone', { restartPolicy: 'Never' }, ended, undefined, undefined],
  ['runs, and waits', { restartPolicy: 'Never' }, running, waiting, undefined],
  ['ended well where failures restart', { restartPolicy: 'OnFailure' }, ended, running, refused],
  ['failed where failures restart', { restartPolicy: 'OnFailure' }, failed, running, undefined],
  ['ended where all restarts', { restartPolicy: 'Always' }, ended, running, undefined],
  ['ended where nothing is said, so all restarts', {}, ended, running, undefined],
  [
    'ended where all restarts, whatever its own policy is',
    { restartPolicy: 'Always', containers: [container('a', 'Never')] },
    ended,
    running,
    undefined,
  ],
  [
    'ended where nothing is said, whatever its own policy is',
    { containers: [container('a', 'Never')] },
    ended,
    running,
    undefined,
  ],
  [
    'failed, its own policy against the pod’s',
    { restartPolicy: 'Never', containers: [container('a', 'OnFailure')] },
    failed,
    running,
    undefined,
  ],
  [
    'ended well, its own policy against the pod’s',
    { restartPolicy: 'Never', containers: [container('a', 'OnFailure')] },
    ended,
    running,
    refused,
  ],
  [
    'failed, as a pod that restarts failures allows whatever its own policy is',
    { restartPolicy: 'OnFailure', containers: [container('a', 'Never')] },
    failed,
    running,
    undefined,
  ],
  [
    'failed, and a rule restarts it',
    { restartPolicy: 'Never', containers: [ruled('Restart', 1)] },
    failed,
    running,
    undefined,
  ],
  [
    'failed, and no rule restarts it',
    { restartPolicy: 'Never', containers: [ruled('Restart', 2)] },
    failed,
    running,
    refused,
  ],
  [
    'ended where a rule may restart all',
    { restartPolicy: 'Never', containers: [ruled('RestartAllContainers', 7)] },
    ended,
    running,
    undefined,
  ],
  [
    'ended, and the spec does not know it',
    { restartPolicy: 'Never', containers: [] },
    ended,
    running,
    refused,
  ],
])('a container may not come back that %s (R196)', ([, spec, old, next, fault]) => {
  const given: PodSpec = { containers: [container('a')], ...spec };
  const containers = (state: object | undefined) =>
    state ? { containerStatuses: [statusOf('z', running), statusOf('a', state)] } : {};
  expect(illegalTransition(containers(old), containers(next), given)).toBe(fault);
});

test('each container is looked at, and only in the status of its name (R196)', () => {
  const spec: PodSpec = { restartPolicy: 'Never', containers: [container('a'), container('b')] };
  const old = { containerStatuses: [statusOf('a', ended), statusOf('b', ended)] };
  const next = { containerStatuses: [statusOf('a', ended), statusOf('b', running)] };
  expect(illegalTransition(old, next, spec)).toContain('container b');
  expect(illegalTransition({ containerStatuses: [statusOf('a', ended)] }, next, spec)).toBeUndefined();
  expect(illegalTransition({}, next, spec)).toBeUndefined();
  expect(illegalTransition(old, { containerStatuses: [bareStatusOf('a')] }, spec)).toContain('container a');
  const two: PodSpec = { restartPolicy: 'Never', containers: [container('a', 'Always'), container('b')] };
  const both = { containerStatuses: [statusOf('a', running), statusOf('b', running)] };
  expect(illegalTransition(old, both, two)).toContain('container b');
});

const initSpec = (...initContainers: ReturnType<typeof container>[]): PodSpec => ({
  restartPolicy: 'Never',
  containers: [],
  initContainers,
});

test.for<[says: string, spec: PodSpec, old: ContainerStatus[], fault: string | undefined]>([
  [
    'ended well',
    initSpec(container('a')),
    [statusOf('a', ended)],
    refused.replace('container', 'init container'),
  ],
  ['is a sidecar', initSpec(container('a', 'Always')), [statusOf('a', ended)], undefined],
  ['runs', initSpec(container('a')), [statusOf('a', running)], undefined],
  [
    'ended, behind one that may come back',
    initSpec(container('s', 'Always'), container('a')),
    [statusOf('s', ended), statusOf('a', ended)],
    refused.replace('container', 'init container'),
  ],
  [
    'ended, behind one that has ended still',
    initSpec(container('e'), container('a')),
    [statusOf('e', ended), statusOf('a', ended)],
    refused.replace('container', 'init container'),
  ],
  [
    'stands elsewhere in the spec',
    initSpec(container('b'), container('a')),
    [statusOf('a', ended)],
    'found mismatch between pod spec and status, container: a',
  ],
  [
    'is not in the spec',
    { restartPolicy: 'Never', containers: [] },
    [statusOf('a', running)],
    'found mismatch between pod spec and status, container: a',
  ],
])('an init container may not come back that %s (R196)', ([, spec, old, fault]) => {
  const next = { initContainerStatuses: [statusOf('a', running), statusOf('s', running)] };
  expect(illegalTransition({ initContainerStatuses: old }, next, spec)).toBe(fault);
  expect(illegalTransition({ initContainerStatuses: old }, {}, spec)).toBe(
    fault?.startsWith('found') ? fault : undefined,
  );
});

const [before, now] = ['2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'];
const condition = (extra: Partial<Record<keyof PodCondition, unknown>> = {}): PodCondition =>
  ({ type: 'Ready', status: 'True', ...extra }) as PodCondition;

test.for([
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'DisruptionTarget',
  'AllContainersRestarting',
])('the time of %s moves only when its status does (R197)', (type) => {
  const old = { conditions: [condition({ type, lastTransitionTime: before })] };
  const timeOf = (extra: object, from = old): unknown =>
    withTimes({ conditions: [condition({ type, ...extra })] }, from, now).conditions?.[0]?.lastTransitionTime;
  expect(timeOf({})).toBe(before);
  expect(timeOf({ reason: 'r' })).toBe(before);
  expect(timeOf({ status: 'False' })).toBe(now);
  expect(timeOf({}, { conditions: [] })).toBe(now);
});

test('conditions of others keep their time, and a condition without a time gets none (R197)', () => {
  const foreign = condition({ type: 'example.com/gate' });
  const resize = condition({ type: 'PodResizePending', lastTransitionTime: before });
  const ready = condition({ lastTransitionTime: now });
  const { conditions } = withTimes(
    { conditions: [foreign, resize, ready] },
    { conditions: [condition({ type: 'PodResizePending', status: 'False' }), condition()] },
    now,
  );
  expect(conditions).toEqual([foreign, resize, condition()]);
  expect(conditions?.[0]).toBe(foreign);
  expect(conditions?.[1]).toBe(resize);
});

test.for([
  ['reason', 'r'],
  ['message', 'm'],
  ['observedGeneration', 2],
  ['lastProbeTime', before],
] as const)(
  'a condition that says the same is the same object, one with another %s is not (R197)',
  ([field, value]) => {
    const old = condition({ lastTransitionTime: before, [field]: value });
    const conditionFor = (next: PodCondition): PodCondition | undefined =>
      withTimes({ conditions: [next] }, { conditions: [old] }, now).conditions?.[0];
    expect(conditionFor(condition({ [field]: value }))).toBe(old);
    expect(conditionFor(condition())).toEqual(condition({ lastTransitionTime: before }));
  },
);

test('the start is written once (R197)', () => {
  expect(withTimes({}, {}, now)).toEqual({ startTime: now });
  expect(withTimes({ startTime: before }, {}, now)).toEqual({ startTime: before });
  expect(withTimes({ startTime: now }, { startTime: before }, now)).toEqual({ startTime: before });
});

const podOf = (init: ReturnType<typeof container>[], status: Pod['status']): Pod => ({
  spec: { containers: [container('m')], initContainers: init },
  ...(status && { status }),
});
const inits = (...initContainerStatuses: ContainerStatus[]) => ({ initContainerStatuses });

test.for<[says: string, pod: Pod, initialized: boolean]>([
  ['there is nothing to wait for', podOf([], undefined), true],
  ['there is no spec', {}, true],
  ['nothing is known', podOf([container('a')], undefined), false],
  ['a regular one runs', podOf([container('a')], { containerStatuses: [statusOf('m', running)] }), true],
  [
    'a regular one has run',
    podOf([container('a')], { containerStatuses: [statusOf('n', waiting), statusOf('m', waiting, ended)] }),
    true,
  ],
  ['the regular ones wait', podOf([container('a')], { containerStatuses: [statusOf('m', waiting)] }), false],
  ['the last one ended well', podOf([container('a')], inits(statusOf('a', ended))), true],
  ['the last one ended well before', podOf([container('a')], inits(statusOf('a', waiting, ended))), true],
  ['the last one failed', podOf([container('a')], inits(statusOf('a', failed))), false],
  ['the last one runs', podOf([container('a')], inits(statusOf('a', running))), false],
  ['the last one says nothing', podOf([container('a')], inits({ ...statusOf('a', {}) })), false],
  [
    'the sidecar has started',
    podOf([container('a', 'Always')], inits(statusOf('a', running, {}, true))),
    true,
  ],
  ['the sidecar has not started', podOf([container('a', 'Always')], inits(statusOf('a', running))), false],
  ['the sidecar has ended', podOf([container('a', 'Always')], inits(statusOf('a', ended, {}, true))), false],
  [
    'the first of two ended, the second waits',
    podOf([container('a'), container('b')], inits(statusOf('a', ended), statusOf('b', waiting))),
    false,
  ],
  ['the last one is told by its name alone', podOf([container('a')], inits(bareStatusOf('a'))), false],
  ['the last one failed, and that is all', podOf([container('a')], inits(bareStatusOf('a', failed))), false],
  [
    'the sidecar is told by its name alone',
    podOf([container('a', 'Always')], inits(bareStatusOf('a'))),
    false,
  ],
  [
    'a regular one is told by its name alone',
    podOf([container('a')], { containerStatuses: [bareStatusOf('m')] }),
    true,
  ],
  [
    'a regular one waits, and that is all',
    podOf([container('a')], { containerStatuses: [bareStatusOf('m', waiting)] }),
    false,
  ],
  [
    'there are more statuses than containers',
    podOf([container('a')], inits(statusOf('a', ended), statusOf('b', ended))),
    false,
  ],
  ['the status is that of another', podOf([container('a')], inits(statusOf('b', ended))), false],
])('whether a pod is past its init containers when %s (R204)', ([, pod, initialized]) => {
  expect(hasPodInitialized(pod)).toBe(initialized);
});

test.for<[statuses: ContainerStatus[], tried: number]>([
  [[], 0],
  [[statusOf('a', waiting)], 1],
  [[statusOf('a', waiting), statusOf('b', waiting)], 1],
  [[statusOf('a', ended), statusOf('b', waiting)], 1],
  [[statusOf('a', ended), statusOf('b', running), statusOf('c', waiting)], 2],
  [[statusOf('a', waiting), statusOf('b', waiting, failed), statusOf('c', waiting)], 2],
])('of %j that many have tried to start: %i; the first always has (R204)', ([statuses, tried]) => {
  expect(triedToStart(statuses)).toBe(tried);
});

const gone = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};

test('whoever has no end when the pod’s is certain gets one, but not an init container that never tried (R204)', () => {
  const status = {
    phase: 'Running',
    containerStatuses: [statusOf('m', running), statusOf('n', failed), bareStatusOf('o')],
    initContainerStatuses: [statusOf('a', ended), statusOf('b', running), statusOf('c', waiting)],
  };
  const init = [container('a'), container('b'), container('c')];
  const told = terminatedStatus(podOf(init, { containerStatuses: status.containerStatuses }), status);
  expect(told).toEqual({
    phase: 'Failed',
    containerStatuses: [statusOf('m', gone), statusOf('n', failed), bareStatusOf('o', gone)],
    initContainerStatuses: [statusOf('a', ended), statusOf('b', gone), statusOf('c', waiting)],
  });
  expect(terminatedStatus(podOf(init, {}), status).containerStatuses).toBe(status.containerStatuses);
});

test.for<[phase: string | undefined, isStatic: boolean, told: string | undefined]>([
  ['Running', false, 'Failed'],
  ['Pending', false, 'Failed'],
  [undefined, false, 'Failed'],
  ['Failed', false, 'Failed'],
  ['Succeeded', false, 'Succeeded'],
  ['Running', true, 'Running'],
])(
  'of a pod whose end is certain the phase %s becomes terminal, unless it is static: %s (R204)',
  ([phase, isStatic, told]) => {
    const pod: Pod = { metadata: { annotations: isStatic ? { [configSourceAnnotation]: 'file' } : {} } };
    const status = phase === undefined ? {} : { phase };
    expect(terminatedStatus(pod, status)).toEqual(told === undefined ? {} : { phase: told });
  },
);
