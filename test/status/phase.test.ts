import { expect, test } from 'vitest';
import { configSourceAnnotation } from '../../src/kube/names.ts';
import type { Container, ContainerStatus, Pod } from '../../src/kube/types.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../src/provider/runtime-pod.ts';
import { hasActiveRegular, hasRegularCreated, podPhase } from '../../src/status/phase.ts';
import { bareStatusOf, instanceOf, runtimeOf, statusOf } from './support/statuses.ts';
import { isTerminalPhase } from '../../src/kube/pod-phase.ts';

const ended = (exitCode: number, reason?: string) => ({
  terminated: { exitCode, ...(reason !== undefined && { reason }) },
});
const waiting = { waiting: { reason: 'CrashLoopBackOff' } };
const running = { running: {} };

type Policy = 'Always' | 'OnFailure' | 'Never';

const container = (name: string, extra: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  ...extra,
});
const sidecar = container('s', { restartPolicy: 'Always' });

interface Case {
  readonly policy?: Policy;
  readonly init?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly statuses: readonly ContainerStatus[];
  readonly terminal?: boolean;
  readonly initialized?: boolean;
  readonly isStatic?: boolean;
}

function phaseOf({
  policy = 'Always',
  init,
  containers = [container('a')],
  statuses,
  ...rest
}: Case): string {
  const pod: Pod = {
    metadata: { annotations: rest.isStatic ? { [configSourceAnnotation]: 'file' } : {} },
    spec: { restartPolicy: policy, containers: [...containers], ...(init && { initContainers: [...init] }) },
  };
  const context = { podIsTerminal: rest.terminal ?? false, podHasInitialized: rest.initialized ?? false };
  return podPhase(pod, statuses, context);
}

test('Succeeded and Failed are for ever, the others are not', () => {
  expect(['Succeeded', 'Failed'].map(isTerminalPhase)).toEqual([true, true]);
  expect(['Pending', 'Running', 'Unknown', '', undefined].map(isTerminalPhase)).not.toContain(true);
});

test('a pod without a spec, or without containers, is Pending', () => {
  expect(podPhase({}, [], { podIsTerminal: false, podHasInitialized: true })).toBe('Pending');
  expect(phaseOf({ containers: [], statuses: [] })).toBe('Pending');
});

const setup = container('i');

test.for<[says: string, given: Case, phase: string]>([
  ['waits to be made', { init: [setup], statuses: [statusOf('a', running)] }, 'Pending'],
  ['runs', { init: [setup], statuses: [statusOf('i', running), statusOf('a', waiting)] }, 'Pending'],
  [
    'waits for the first time',
    { init: [setup], statuses: [statusOf('i', waiting), statusOf('a', running)] },
    'Pending',
  ],
  ['ended well', { init: [setup], statuses: [statusOf('i', ended(0)), statusOf('a', running)] }, 'Running'],
  [
    'ended well, and waits to run once more',
    { init: [setup], statuses: [statusOf('i', waiting, ended(0)), statusOf('a', running)] },
    'Running',
  ],
  [
    'failed, and is not tried again',
    { policy: 'Never', init: [setup], statuses: [statusOf('i', ended(1))] },
    'Failed',
  ],
  [
    'failed before it began to wait, and is not tried again',
    { policy: 'Never', init: [setup], statuses: [statusOf('i', waiting, ended(1))] },
    'Failed',
  ],
  [
    'failed, and is tried again',
    { policy: 'OnFailure', init: [setup], statuses: [statusOf('i', ended(1)), statusOf('a', waiting)] },
    'Pending',
  ],
  [
    'failed for a rule that restarts all',
    {
      policy: 'Never',
      init: [setup],
      statuses: [statusOf('i', ended(1, 'RestartingAllContainers')), statusOf('a', running)],
    },
    'Running',
  ],
  [
    'failed as the second one',
    {
      policy: 'Never',
      init: [setup, container('j')],
      statuses: [statusOf('i', ended(0)), statusOf('j', ended(2))],
    },
    'Failed',
  ],
  [
    'of the second waits, the first having ended',
    { init: [setup, container('j')], statuses: [statusOf('i', ended(0)), statusOf('a', running)] },
    'Pending',
  ],
  ['says nothing', { init: [setup], statuses: [bareStatusOf('i'), statusOf('a', running)] }, 'Pending'],
  [
    'waits and says no more',
    { init: [setup], statuses: [bareStatusOf('i', waiting), statusOf('a', running)] },
    'Pending',
  ],
])('while an init container %s the pod is in its phase (R208)', ([, given, phase]) => {
  expect(phaseOf(given)).toBe(phase);
});

test.for<[says: string, given: Case, phase: string]>([
  ['is not known', { statuses: [statusOf('a', running)] }, 'Pending'],
  [
    'is not known, in a pod that was initialised',
    { initialized: true, statuses: [statusOf('a', running)] },
    'Pending',
  ],
  ['runs but has not started', { statuses: [statusOf('s', running), statusOf('a', running)] }, 'Pending'],
  [
    'runs but has not started, in a pod that was initialised',
    { initialized: true, statuses: [statusOf('s', running), statusOf('a', running)] },
    'Running',
  ],
  ['has started', { statuses: [statusOf('s', running, {}, true), statusOf('a', running)] }, 'Running'],
  [
    'has started, beside one that ended',
    { policy: 'Never', statuses: [statusOf('s', running, {}, true), statusOf('a', ended(0))] },
    'Running',
  ],
  ['ended', { policy: 'Never', statuses: [statusOf('s', ended(1)), statusOf('a', ended(0))] }, 'Succeeded'],
  ['waits after an end', { statuses: [statusOf('s', waiting, ended(1)), statusOf('a', running)] }, 'Running'],
  ['waits for its first start', { statuses: [statusOf('s', waiting), statusOf('a', running)] }, 'Pending'],
  [
    'waits for its first start, in a pod that was initialised',
    { initialized: true, statuses: [statusOf('s', waiting), statusOf('a', running)] },
    'Pending',
  ],
  ['says nothing', { initialized: true, statuses: [statusOf('s', {}), statusOf('a', running)] }, 'Pending'],
  [
    'says nothing, while the other ended',
    { statuses: [statusOf('s', {}), statusOf('a', ended(0))] },
    'Pending',
  ],
  [
    'says nothing of its state',
    { initialized: true, statuses: [bareStatusOf('s'), statusOf('a', running)] },
    'Pending',
  ],
  [
    'says only how it ended before',
    { initialized: true, statuses: [statusOf('s', {}, ended(1)), statusOf('a', running)] },
    'Pending',
  ],
  [
    'waits and says no more',
    { initialized: true, statuses: [bareStatusOf('s', waiting), statusOf('a', running)] },
    'Pending',
  ],
])('when the sidecar %s the pod is in its phase (R209)', ([, given, phase]) => {
  expect(phaseOf({ init: [sidecar], ...given })).toBe(phase);
});

const [a, b] = [container('a'), container('b')];

test.for<[says: string, given: Case, phase: string]>([
  ['none is known', { statuses: [] }, 'Pending'],
  ['none says anything', { statuses: [statusOf('a', {}), statusOf('b', {})] }, 'Pending'],
  ['one runs, one is not known', { statuses: [statusOf('a', running)] }, 'Pending'],
  ['both run', { statuses: [statusOf('a', running), statusOf('b', running)] }, 'Running'],
  [
    'one waits for its first start',
    { statuses: [statusOf('a', running), statusOf('b', waiting)] },
    'Pending',
  ],
  [
    'one waits after an end',
    { statuses: [statusOf('a', running), statusOf('b', waiting, ended(1))] },
    'Running',
  ],
  [
    'one ended, one runs',
    { policy: 'Never', statuses: [statusOf('a', ended(1)), statusOf('b', running)] },
    'Running',
  ],
  [
    'all ended well',
    { policy: 'Never', statuses: [statusOf('a', ended(0)), statusOf('b', ended(0))] },
    'Succeeded',
  ],
  [
    'one ended ill',
    { policy: 'Never', statuses: [statusOf('a', ended(0)), statusOf('b', ended(1))] },
    'Failed',
  ],
  [
    'a success of before counts no more',
    { policy: 'Never', statuses: [statusOf('a', ended(0)), statusOf('b', waiting, ended(0))] },
    'Failed',
  ],
  [
    'all ended well and start again',
    { statuses: [statusOf('a', ended(0)), statusOf('b', ended(0))] },
    'Running',
  ],
  [
    'one that failed starts again',
    { policy: 'OnFailure', statuses: [statusOf('a', ended(0)), statusOf('b', ended(1))] },
    'Running',
  ],
  [
    'one that failed waits to start again',
    { policy: 'OnFailure', statuses: [statusOf('a', ended(0)), statusOf('b', waiting, ended(1))] },
    'Running',
  ],
  [
    'one would start again, but the pod has ended for good',
    { policy: 'OnFailure', terminal: true, statuses: [statusOf('a', ended(0)), statusOf('b', ended(1))] },
    'Failed',
  ],
  [
    'the pod has ended for good, and well',
    { terminal: true, statuses: [statusOf('a', ended(0)), statusOf('b', ended(0))] },
    'Succeeded',
  ],
  [
    'a static pod never ends for good while one starts again',
    { terminal: true, isStatic: true, statuses: [statusOf('a', ended(0)), statusOf('b', ended(0))] },
    'Running',
  ],
  [
    'one restarts with all the others by a rule',
    {
      policy: 'Never',
      statuses: [statusOf('a', ended(0)), statusOf('b', ended(1, 'RestartingAllContainers'))],
    },
    'Running',
  ],
  ['one says nothing of its state', { statuses: [bareStatusOf('a'), statusOf('b', running)] }, 'Pending'],
  [
    'one waits and says no more',
    { statuses: [bareStatusOf('a', waiting), statusOf('b', running)] },
    'Pending',
  ],
  [
    'one says only how it ended before',
    { statuses: [statusOf('a', {}, ended(1)), statusOf('b', running)] },
    'Pending',
  ],
])('of two containers %s (R210, R211, R212, R213, R214)', ([, given, phase]) => {
  expect(phaseOf({ containers: [a, b], ...given })).toBe(phase);
});

const spec = { containers: [a, b] };
const seen = (name: string, state: RuntimeContainerState): RuntimePodStatus =>
  runtimeOf([instanceOf(name, state)]);

test.for<[state: RuntimeContainerState, created: boolean]>([
  ['created', true],
  ['running', true],
  ['exited', true],
  ['unknown', false],
])('a regular container that is %s: there, made %s (R209, R225)', ([state, created]) => {
  expect(hasActiveRegular(spec, seen('b', state))).toBe(true);
  expect(hasRegularCreated(spec, seen('b', state))).toBe(created);
  expect(hasActiveRegular(spec, seen('stranger', state))).toBe(false);
  expect(hasRegularCreated(spec, seen('stranger', state))).toBe(false);
  expect(hasActiveRegular(undefined, seen('b', state))).toBe(false);
  expect(hasRegularCreated(undefined, seen('b', state))).toBe(false);
});

test('only the active sandbox tells of a container, only the newest instance of having been made (R209, R225)', () => {
  const both = runtimeOf([instanceOf('a', 'unknown'), instanceOf('a', 'exited')]);
  expect(hasRegularCreated(spec, both)).toBe(false);
  expect(hasActiveRegular(spec, both)).toBe(true);
  expect(hasActiveRegular(spec, { ...both, activeContainerStatuses: [] })).toBe(false);
});

test('of several statuses of one container the first counts', () => {
  const statuses = [statusOf('a', ended(1)), statusOf('a', running)];
  expect(phaseOf({ policy: 'Never', statuses })).toBe('Failed');
});
