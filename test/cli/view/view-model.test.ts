import { expect, test } from 'vitest';
import type { Event, Pod } from '../../../src/kube/types.ts';
import { phaseText } from '../../../src/cli/view/table.ts';
import { podRow, rowWithEvent, withStopping } from '../../../src/cli/view/view-model.ts';
import { main, modelOf, pod, running } from '../../support/view-pods.ts';

const inits = { initContainers: [{ name: 'one' }, { name: 'two' }] };
const sidecar = { initContainers: [{ name: 'side', restartPolicy: 'Always' }] };

test.for<readonly [string, Pod, string, string, number]>([
  ['a pod that runs', pod('p', { containerStatuses: [running] }), 'Running', '1/1', 0],
  ['one that was just made', pod('p', { phase: 'Pending' }), 'Pending', '0/1', 0],
  [
    'a crash loop',
    pod('p', { containerStatuses: [main({ waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 4 })] }),
    'Running CrashLoopBackOff',
    '0/1',
    4,
  ],
  [
    'init containers under way',
    pod(
      'p',
      { phase: 'Pending', initContainerStatuses: [main({ terminated: { exitCode: 0 } }, { name: 'one' })] },
      inits,
    ),
    'Pending Init:1/2',
    '0/1',
    0,
  ],
  [
    'an init container that fails',
    pod(
      'p',
      {
        phase: 'Pending',
        initContainerStatuses: [main({ waiting: { reason: 'CrashLoopBackOff' } }, { name: 'one' })],
      },
      inits,
    ),
    'Pending Init:CrashLoopBackOff',
    '0/1',
    0,
  ],
  [
    'a sidecar, which counts among the ready ones',
    pod(
      'p',
      {
        containerStatuses: [running],
        initContainerStatuses: [main({ running: {} }, { name: 'side', ready: true, started: true })],
      },
      sidecar,
    ),
    'Running',
    '2/2',
    0,
  ],
  ['a rejected pod', pod('p', { phase: 'Failed', reason: 'NodePorts' }), 'Failed NodePorts', '0/1', 0],
  [
    'a pod that failed',
    pod('p', {
      phase: 'Failed',
      containerStatuses: [main({ terminated: { exitCode: 137, reason: 'Error' } })],
    }),
    'Failed Error',
    '0/1',
    0,
  ],
  [
    'one that succeeded',
    pod('p', { phase: 'Succeeded', containerStatuses: [main({ terminated: { exitCode: 0 } })] }),
    'Succeeded',
    '0/1',
    0,
  ],
])('%s shows its phase, what holds it up, ready and restarts', ([, given, phase, ready, restarts]) => {
  const row = modelOf(given).get('default/p');
  expect(row && [phaseText(row), row.ready, row.restarts]).toEqual([phase, ready, restarts]);
});

test('a pod that is being deleted says so', () => {
  const base = pod('p', { containerStatuses: [running] });
  const row = modelOf({ ...base, metadata: { ...base.metadata, deletionTimestamp: 'x' } }).get('default/p');
  expect(row?.detail).toBe('Terminating');
});

test.for<readonly [string, Pod, readonly [number, number]]>([
  [
    'of init containers up to the one under way, while the pod is initialized',
    pod(
      'p',
      {
        phase: 'Pending',
        initContainerStatuses: [
          main(
            { running: {} },
            {
              name: 'one',
              restartCount: 2,
              lastState: { terminated: { exitCode: 1, finishedAt: '2026-11-21T08:00:04Z' } },
            },
          ),
          main({ waiting: {} }, { name: 'two', restartCount: 9 }),
        ],
        containerStatuses: [main({ waiting: {} }, { restartCount: 5 })],
      },
      inits,
    ),
    [2, 4],
  ],
  [
    'of sidecars and containers afterwards',
    pod(
      'p',
      {
        initContainerStatuses: [
          main({ terminated: { exitCode: 0 } }, { name: 'one', restartCount: 3 }),
          main({ running: {} }, { name: 'side', restartCount: 1, started: true }),
        ],
        containerStatuses: [
          main(
            { running: {} },
            {
              restartCount: 2,
              lastState: { terminated: { exitCode: 1, finishedAt: '2026-11-21T08:00:07Z' } },
            },
          ),
        ],
      },
      { initContainers: [{ name: 'one' }, { name: 'side', restartPolicy: 'Always' }] },
    ),
    [3, 7],
  ],
])('restarts are counted as kubectl counts them: %s', ([, given, [restarts, second]]) => {
  const row = modelOf(given).get('default/p');
  expect(row).toMatchObject({ restarts, restartedAt: Date.parse('2026-11-21T08:00:00Z') + second * 1000 });
});

test('a failure is shown in full: the last termination of each container, and the pod’s own message', () => {
  const containerStatuses = [
    main(
      { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting\nfailed container' } },
      { lastState: { terminated: { exitCode: 3, message: 'no such table' } } },
    ),
    main({ terminated: { exitCode: 137, reason: 'OOMKilled' } }, { name: 'other' }),
  ];
  expect(modelOf(pod('p', { containerStatuses })).get('default/p')?.failure).toBe(
    'main: CrashLoopBackOff, exit code 3, back-off 10s restarting failed container, no such table; other: OOMKilled, exit code 137',
  );
  const rejected = pod('p', { phase: 'Failed', reason: 'NodePorts', message: 'Pod was rejected: a port' });
  expect(modelOf(rejected).get('default/p')?.failure).toBe('NodePorts: Pod was rejected: a port');
  const done = pod('p', { phase: 'Succeeded', containerStatuses: [main({ terminated: { exitCode: 0 } })] });
  expect(modelOf(done).get('default/p')?.failure).toBe('');
});

test('the time of the last event is its newest', () => {
  const event = {
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Pulled',
    message: 'x',
    firstTimestamp: '2026-11-21T08:00:01Z',
    lastTimestamp: '2026-11-21T08:00:05Z',
  } as Event;
  const row = rowWithEvent(podRow(pod('p')), event);
  expect(row).toMatchObject({ lastEvent: 'Pulled: x', lastEventAt: Date.parse('2026-11-21T08:00:05Z') });
});

test('while all pods are stopped, those that ran say how far they are', () => {
  const ran = modelOf(
    pod('a', { containerStatuses: [running] }),
    pod('b', { containerStatuses: [running] }),
    pod('c', { phase: 'Succeeded' }),
  );
  const rows = [...withStopping(ran, ['default/b']).values()].map(({ detail, ready }) => [detail, ready]);
  expect(rows).toEqual([
    ['Stopped', '0/1'],
    ['Stopping', '1/1'],
    ['', '0/1'],
  ]);
});
