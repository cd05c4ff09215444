import { describe, expect, test } from 'vitest';
import type { Container, ContainerState, ContainerStatus, Pod } from '../../src/kube/types.ts';
import type { RuntimeContainerStatus } from '../../src/provider/runtime-pod.ts';
import { convertContainerStatus } from '../../src/status/container-status.ts';
import {
  containerStatuses,
  type ContainerStatusesInput,
  sortedByName,
} from '../../src/status/container-statuses.ts';
import { bareStatusOf, instanceOf, runtimeOf, statusOf } from './support/statuses.ts';

const container = (name: string, extra: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  ...extra,
});
const deletionTimestamp = '2000-01-01T00:00:00Z' as never;

interface Given extends Partial<Omit<ContainerStatusesInput, 'runtime' | 'containers'>> {
  readonly containers?: readonly Container[];
  readonly seen?: readonly RuntimeContainerStatus[];
}

function statusesOf({
  containers = [container('a')],
  seen = [],
  ...rest
}: Given): readonly ContainerStatus[] {
  return containerStatuses({
    pod: { spec: { containers: [...containers] } },
    runtime: runtimeOf(seen),
    previous: [],
    containers,
    kind: 'regular',
    restartingAll: false,
    startFailureOf: () => undefined,
    ...rest,
  });
}

const first = (given: Given): ContainerStatus | undefined => statusesOf(given)[0];

describe('a container that the runtime does not show', () => {
  test.for([
    [{}, undefined, undefined],
    [{ readOnly: true }, true, 'Disabled'],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, true, 'Enabled'],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, false, 'Disabled'],
    [{ readOnly: true, recursiveReadOnly: 'Enabled' }, true, 'Enabled'],
    [{ readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'Bidirectional' }, true, 'Disabled'],
  ] as const)('with a mount %j, where the runtime can do it: %s, shows %s', ([wish, can, shown]) => {
    const volumeMounts = [{ name: 'v', mountPath: '/v', ...wish }];
    const status = first({
      containers: [container('a', { volumeMounts })],
      ...(can !== undefined && { supportsRecursiveReadOnly: () => can }),
    });
    expect(status?.volumeMounts?.[0]?.recursiveReadOnly).toBe(shown);
  });

  test('waits to be made, with all that the spec says of it (R219)', () => {
    const given = container('a', {
      volumeMounts: [
        { name: 'v', mountPath: '/v', subPath: 's' },
        { name: 'w', mountPath: '/w', readOnly: true },
        { name: 'x', mountPath: '/x', readOnly: false },
      ],
    });
    expect(statusesOf({ containers: [given] })).toEqual([
      {
        name: 'a',
        state: { waiting: { reason: 'ContainerCreating' } },
        lastState: {},
        ready: false,
        restartCount: 0,
        image: 'i',
        imageID: '',
        volumeMounts: [
          { name: 'v', mountPath: '/v' },
          { name: 'w', mountPath: '/w', readOnly: true, recursiveReadOnly: 'Disabled' },
          { name: 'x', mountPath: '/x' },
        ],
      },
    ]);
    const { image: _, ...imageless } = container('a', { volumeMounts: [] });
    const plain = first({ containers: [imageless] });
    expect(plain?.image).toBe('');
    expect(plain).not.toHaveProperty('volumeMounts');
  });

  test.for<[says: string, pod: Pod, reason: string]>([
    ['without a spec', {}, 'ContainerCreating'],
    ['with an empty list', { spec: { containers: [], initContainers: [] } }, 'ContainerCreating'],
    ['with one', { spec: { containers: [], initContainers: [container('i')] } }, 'PodInitializing'],
  ])('waits for the init containers of the pod, if there are any: %s (R219)', ([, pod, reason]) => {
    expect(first({ pod })?.state).toEqual({ waiting: { reason } });
  });

  test('and had ended, has ended still (R220)', () => {
    const old = { ...statusOf('a', { terminated: { exitCode: 3 } }), restartCount: 2 };
    expect(first({ previous: [statusOf('z', {}), old] })).toBe(old);
  });

  const vanished = {
    terminated: {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message:
        'The container could not be located when the pod was deleted.  The container used to be Running',
    },
  };
  const [running, waiting] = [{ running: {} }, { waiting: { reason: 'r' } }];
  const end = { terminated: { exitCode: 3 } };

  test.for<[says: string, old: ContainerStatus, deleted: boolean, count: number, last: object]>([
    ['ran', statusOf('a', running), false, 5, vanished],
    ['ran in a pod that is deleted', statusOf('a', running), true, 4, vanished],
    ['ran after an end', statusOf('a', running, end), false, 4, end],
    ['waited', statusOf('a', waiting, end), false, 4, end],
    ['waited for the first time', statusOf('a', waiting), false, 4, {}],
  ])('and %s, keeps its count and last state (R221)', ([, old, deleted, restartCount, lastState]) => {
    const pod: Pod = { metadata: deleted ? { deletionTimestamp } : {} };
    expect(first({ pod, previous: [{ ...old, restartCount: 4, image: 'old' }] })).toEqual({
      ...statusOf('a', { waiting: { reason: 'ContainerCreating' } }, lastState),
      restartCount,
    });
  });

  test('and said nothing of its last state, or of any, has an empty one (R221)', () => {
    for (const old of [bareStatusOf('a', { waiting: {} }), bareStatusOf('a')])
      expect(first({ previous: [old] })).toMatchObject({ restartCount: 0, lastState: {} });
    expect(first({ previous: [bareStatusOf('a', running)], pod: {} })?.restartCount).toBe(1);
  });

  test.for<[says: string, state: ContainerState, kept: boolean]>([
    ['ran', running, false],
    ['had ended', end, true],
    ['was told without a state', {}, false],
  ])(
    'and was removed because a rule restarts all, waits with that reason, once more: it %s',
    ([, state, kept]) => {
      const why = {
        reason: 'RestartingAllContainers',
        message: 'The container is removed because RestartAllContainers in place',
      };
      const old = { ...statusOf('a', state), restartCount: 1, ready: true, image: 'old', containerID: 'x' };
      const { containerID: _, ...anew } = { ...old, image: 'i', ready: false };
      expect(first({ previous: [old], restartingAll: true })).toEqual({
        ...(kept ? old : anew),
        state: { waiting: why },
        lastState: { terminated: { exitCode: 137, ...why } },
        restartCount: 2,
      });
    },
  );

  test('and waited while a rule restarts all, waits', () => {
    expect(first({ restartingAll: true })?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    const old = { ...statusOf('a', waiting), restartCount: 1 };
    expect(first({ previous: [old], restartingAll: true })).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      restartCount: 1,
    });
  });

  const passed = {
    terminated: {
      exitCode: 0,
      reason: 'Completed',
      message:
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
    },
  };

  test.for<[says: string, given: Given, state: object]>([
    ['when regular ones exist, has ended well', {}, passed],
    ['though its start failed', { startFailureOf: () => ({ reason: 'r', message: 'm' }) }, passed],
    [
      'but not a sidecar',
      { containers: [container('i', { restartPolicy: 'Always' })] },
      { waiting: { reason: 'PodInitializing' } },
    ],
    ['but not before one was made', { seen: [] }, { waiting: { reason: 'PodInitializing' } }],
    ['but not a regular one', { kind: 'regular' }, { waiting: { reason: 'PodInitializing' } }],
  ])('and is an init container, %s (R225)', ([, given, state]) => {
    const pod: Pod = { spec: { containers: [container('a')], initContainers: [container('i')] } };
    const init: Given = {
      pod,
      kind: 'init',
      containers: [container('i')],
      seen: [instanceOf('a', 'created')],
    };
    expect(first({ ...init, ...given })?.state).toEqual(state);
  });
});

describe('a container that the runtime shows', () => {
  test('has its newest instance as state, the one before as last state, whatever the order (R223)', () => {
    const ended = (exitCode: number, createdAt: number | undefined): RuntimeContainerStatus => {
      const { createdAt: _, ...instance } = instanceOf('a', 'exited', { exitCode });
      return createdAt === undefined ? instance : { ...instance, createdAt };
    };
    const seen = [ended(1, undefined), ended(2, 20), ended(3, 30), ended(4, 10)];
    expect(first({ seen })).toMatchObject({
      state: { terminated: { exitCode: 3 } },
      lastState: { terminated: { exitCode: 2 } },
    });
    expect(first({ seen: [ended(1, undefined), ended(4, 10)] })).toMatchObject({
      state: { terminated: { exitCode: 4 } },
      lastState: { terminated: { exitCode: 1 } },
    });
    expect(first({ seen: [ended(4, 10), ended(1, undefined)] })).toMatchObject({
      state: { terminated: { exitCode: 4 } },
      lastState: { terminated: { exitCode: 1 } },
    });
  });

  test('comes by its name; regular and ephemeral ones are sorted, init ones as in the spec (R198)', () => {
    const containers = [container('b'), container('a')];
    const seen = [instanceOf('b', 'running'), instanceOf('a', 'created')];
    const of = (kind: ContainerStatusesInput['kind']): string[] =>
      statusesOf({ containers, seen, kind }).map(({ name, containerID }) => `${name} ${containerID}`);
    expect(of('regular')).toEqual(['a fake://a', 'b fake://b']);
    expect(of('ephemeral')).toEqual(['a fake://a', 'b fake://b']);
    expect(of('init')).toEqual(['b fake://b', 'a fake://a']);
  });

  test('keeps a list that is sorted already (R198)', () => {
    const sorted = ['0', 'a', 'a', 'b'].map((name) => statusOf(name, {}));
    expect(sortedByName(sorted)).toBe(sorted);
    const twice = [statusOf('b', {}), statusOf('a', { running: {} }), statusOf('a', { waiting: {} })];
    expect(sortedByName(twice)).toEqual([twice[1], twice[2], twice[0]]);
  });
});

describe('why a container could not start', () => {
  const failure = { reason: 'CrashLoopBackOff', message: 'back-off' };
  const startFailureOf = (name: string) => (name === 'a' ? failure : undefined);
  const told = { waiting: failure };
  const specOf = (restartPolicy: string) => ({ spec: { containers: [container('a')], restartPolicy } });
  const exited = (exitCode: number) => [instanceOf('a', 'exited', { exitCode })];
  const initExited = (exitCode: number): Given => ({
    kind: 'init',
    pod: specOf('Always'),
    seen: exited(exitCode),
  });

  test.for<[says: string, given: Given, isTold: boolean]>([
    ['never made', {}, true],
    ['made', { seen: [instanceOf('a', 'created')] }, true],
    ['unknown', { seen: [instanceOf('a', 'unknown')] }, true],
    ['made, and would not start again', { pod: specOf('Never'), seen: [instanceOf('a', 'created')] }, true],
    ['made, while another runs', { seen: [instanceOf('b', 'running'), instanceOf('a', 'created')] }, true],
    ['an init container that was never made', { kind: 'init' }, true],
    ['runs', { seen: [instanceOf('a', 'running')] }, false],
    ['ended, to start again', { pod: specOf('Always'), seen: exited(0) }, true],
    ['ended well, for good', { pod: specOf('OnFailure'), seen: exited(0) }, false],
    ['failed, to start again', { pod: specOf('OnFailure'), seen: exited(1) }, true],
    ['failed, for good', { pod: specOf('Never'), seen: exited(1) }, false],
    ['failed in a pod without a spec', { pod: {}, seen: exited(1) }, true],
    ['deleted', { pod: { ...specOf('Always'), metadata: { deletionTimestamp } }, seen: exited(1) }, false],
    ['an init container that ended well', initExited(0), false],
    ['an init container that failed', initExited(1), true],
    ['an init container that was made', { kind: 'init', seen: [instanceOf('a', 'created')] }, true],
    ['another', { containers: [container('b')] }, false],
  ])('is told of one that is due to start: %s (R224)', ([, given, isTold]) => {
    const state = first({ startFailureOf, ...given })?.state;
    expect(JSON.stringify(state) === JSON.stringify(told)).toBe(isTold);
  });

  test('moves its end to the last state, and leaves another last state alone (R224)', () => {
    expect(first({ startFailureOf, seen: exited(4) })).toMatchObject({
      state: told,
      lastState: { terminated: { exitCode: 4 } },
    });
    const last = { terminated: { exitCode: 5 } };
    const previous = [statusOf('a', { waiting: {} }, last)];
    expect(first({ startFailureOf, previous })).toMatchObject({ state: told, lastState: last });
  });

  test('is left out where it is empty (R224)', () => {
    const why = (reason: string, message: string) =>
      first({ startFailureOf: () => ({ reason, message }) })?.state?.waiting;
    expect(why('r', '')).toEqual({ reason: 'r' });
    expect(why('', 'm')).toEqual({ message: 'm' });
  });
});

const [second, two] = ['1970-01-01T00:00:01Z', '1970-01-01T00:00:02Z'];
const context = { container: container('a'), old: undefined, restartingAll: false };

describe('one instance in the API’s terms', () => {
  test.for<[says: string, instance: RuntimeContainerStatus, state: object]>([
    ['made', instanceOf('a', 'created'), { waiting: {} }],
    ['unknown', instanceOf('a', 'unknown'), { waiting: {} }],
    ['runs', instanceOf('a', 'running'), { running: { startedAt: second } }],
    [
      'ended',
      instanceOf('a', 'exited', { exitCode: 2, reason: 'Error', message: 'm' }),
      {
        terminated: {
          exitCode: 2,
          reason: 'Error',
          message: 'm',
          startedAt: second,
          finishedAt: two,
          containerID: 'fake://a',
        },
      },
    ],
    [
      'ended without a word',
      instanceOf('a', 'exited'),
      { terminated: { exitCode: 0, startedAt: second, finishedAt: two, containerID: 'fake://a' } },
    ],
  ])('shows its state: %s (R222)', ([, instance, state]) => {
    expect(convertContainerStatus(instance, context)).toEqual({
      ...statusOf('a', state),
      imageID: 'i@x',
      containerID: 'fake://a',
      resources: {},
    });
  });

  test('a start that is not known has no time', () => {
    const { startedAt: _, ...instance } = instanceOf('a', 'running');
    expect(convertContainerStatus(instance, context).state).toEqual({ running: {} });
  });

  test('user and stop signal are shown when the runtime tells them', () => {
    const user = { uid: 0, gid: 0, supplementalGroups: [0] };
    expect(
      convertContainerStatus(instanceOf('a', 'running', { user, stopSignal: '' }), context),
    ).toMatchObject({
      user: { linux: user },
      stopSignal: '',
    });
    const plain = convertContainerStatus(instanceOf('a', 'running'), context);
    expect('user' in plain || 'stopSignal' in plain || 'started' in plain || 'volumeMounts' in plain).toBe(
      false,
    );
  });

  const lost = { exitCode: 137, message: 'The container could not be located when the pod was terminated' };

  test.for([
    [false, 'ContainerStatusUnknown'],
    [true, 'RestartingAllContainers'],
  ] as const)(
    'what ran and is unknown has ended, once more; a rule restarts all: %s (R222)',
    ([restartingAll, reason]) => {
      const old = { ...statusOf('a', { running: {} }), restartCount: 3 };
      expect(
        convertContainerStatus(instanceOf('a', 'unknown'), { ...context, old, restartingAll }),
      ).toMatchObject({
        state: { terminated: { ...lost, reason } },
        restartCount: 4,
      });
      const waited = { ...old, state: { waiting: {} } };
      expect(
        convertContainerStatus(instanceOf('a', 'unknown'), { ...context, old: waited, restartingAll }),
      ).toMatchObject({ state: { waiting: {} }, restartCount: 3 });
    },
  );

  const [here, elsewhere] = ['fake://a', 'fake://gone'];
  const [ended, running] = [{ terminated: { exitCode: 1 } }, { running: {} }];
  const end = { terminated: { exitCode: 9 } };
  type Count = [
    says: string,
    state: RuntimeContainerStatus['state'],
    counted: number,
    old: object,
    id: string,
    count: number,
    last: object,
  ];

  test.for<Count>([
    ['the runtime counts more', 'running', 7, running, here, 7, end],
    ['the runtime lost count', 'running', 0, running, here, 4, end],
    ['it follows one that ended', 'running', 0, ended, elsewhere, 5, ended],
    ['it follows, and the runtime counts more', 'running', 6, ended, elsewhere, 6, ended],
    ['it was thought to have ended', 'running', 0, ended, here, 5, end],
    ['it was thought to have ended, and the runtime counts more', 'running', 6, ended, here, 6, end],
    ['it follows, and has ended too', 'exited', 0, ended, elsewhere, 4, ended],
  ])(
    'restarts never become fewer, and the last end is kept: %s (R223)',
    ([, state, restartCount, was, containerID, count, last]) => {
      const old = { ...statusOf('a', was, end), restartCount: 4, containerID };
      const status = convertContainerStatus(instanceOf('a', state, { restartCount }), { ...context, old });
      expect(status).toMatchObject({ restartCount: count });
      expect(status.lastState).toEqual(last);
    },
  );

  test('without a status before, the runtime’s count stands (R223)', () => {
    const status = convertContainerStatus(instanceOf('a', 'running', { restartCount: 2 }), context);
    expect(status).toMatchObject({ restartCount: 2, lastState: {} });
    const of = (state: RuntimeContainerStatus['state']): ContainerStatus =>
      convertContainerStatus(instanceOf('a', state), { ...context, old: bareStatusOf('a') });
    expect(of('running')).toMatchObject({ lastState: {}, state: { running: {} } });
    expect(of('unknown')).toMatchObject({ lastState: {}, state: { waiting: {} } });
  });

  test.for<[says: string, state: RuntimeContainerStatus['state'], id: string, started: boolean | undefined]>([
    ['it runs on', 'running', here, true],
    ['another runs', 'running', elsewhere, true],
    ['it ended', 'exited', here, undefined],
  ])('what the runtime cannot know is carried over: %s (R226)', ([, state, containerID, started]) => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const old = { ...statusOf('a', running, {}, true), containerID, volumeMounts };
    const status = convertContainerStatus(instanceOf('a', state), { ...context, old });
    expect(status.started).toBe(started);
    expect('started' in status).toBe(started !== undefined);
    expect(status.volumeMounts).toBe(volumeMounts);
    const bare = convertContainerStatus(instanceOf('a', state), {
      ...context,
      old: { ...statusOf('a', running), containerID },
    });
    expect('started' in bare || 'volumeMounts' in bare).toBe(false);
  });
});
