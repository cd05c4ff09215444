import { describe, expect, test } from 'vitest';
import type { Event, Pod } from '../../../src/kube/types.ts';
import { changeLines, eventLine, jsonNotice, stoppingLine } from '../../../src/cli/view/report.ts';
import { ageText, cut, phaseText, tableLines } from '../../../src/cli/view/table.ts';
import { withEvent, withoutPod, withPod, type ViewModel } from '../../../src/cli/view/view-model.ts';

type Spec = NonNullable<Pod['spec']>;
type Status = NonNullable<Pod['status']>;
type ContainerStatus = NonNullable<Status['containerStatuses']>[number];

const now = Date.parse('2026-11-21T08:00:10Z');

function pod(name: string, status: Partial<Status> = {}, spec: Partial<Spec> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', creationTimestamp: '2026-11-21T08:00:00Z' },
    spec: { containers: [{ name: 'main' }], ...spec },
    status: { phase: 'Running', ...status },
  };
}

const main = (state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus =>
  ({
    name: 'main',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state,
    ...more,
  }) as ContainerStatus;

const modelOf = (...pods: readonly Pod[]): ViewModel => pods.reduce<ViewModel>(withPod, new Map());

const running = main({ running: {} }, { ready: true });
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

describe('the table', () => {
  const screen = { columns: 100, rows: 24, colour: false };
  const event = {
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'a' },
    reason: 'Started',
    message: 'Container\nstarted',
  } as Event;
  const model = withEvent(
    modelOf(pod('b', { phase: 'Pending' }), pod('a', { containerStatuses: [running] })),
    event,
  );

  test('lists pods by name with their last event', () => {
    expect(tableLines(model, now, screen, 2)).toEqual([
      'POD         PHASE     READY   RESTARTS   AGE   LAST EVENT',
      'default/a   Running   1/1     0          10s   Started: Container started',
      'default/b   Pending   0/1     0          10s',
    ]);
  });

  test('is cut to the width and height of the screen', () => {
    expect(tableLines(model, now, { ...screen, columns: 30, rows: 4 }, 2)).toEqual([
      'POD   PHASE   READY   RESTART…',
      '… and 2 more',
    ]);
  });

  test('has colours only where they are wanted', () => {
    const lines = tableLines(model, now, { ...screen, colour: true }, 2);
    expect(lines[1]?.startsWith('\u001b[32m')).toBe(true);
    expect(lines[2]?.startsWith('\u001b[33m')).toBe(true);
  });

  test('an event of another object or an unknown pod changes nothing', () => {
    const other = { ...event, involvedObject: { kind: 'Node', name: 'n' } } as Event;
    expect(withEvent(model, other)).toBe(model);
  });
});

test.for([
  [0, '0s'],
  [119_000, '119s'],
  [120_000, '2m'],
  [200_000, '3m20s'],
  [11 * 60_000, '11m'],
  [3 * 3_600_000, '3h'],
  [49 * 3_600_000, '2d'],
  [-5, '0s'],
] as const)('%i ms is an age of %s', ([ms, text]) => {
  expect(ageText(ms)).toBe(text);
});

test('control characters cannot break the frame', () => {
  expect(cut('a\u001b[2Jb\n', 80)).toBe('a [2Jb');
});

describe('lines', () => {
  const before = modelOf(pod('a', { phase: 'Pending' }), pod('b'));
  const after = withPod(withoutPod(before, 'default/b'), pod('a', { containerStatuses: [running] }));

  test('tell what changed, and nothing when nothing did', () => {
    expect(changeLines(before, after, now, false)).toEqual([
      '08:00:10 default/a: Running, ready 1/1, restarts 0',
      '08:00:10 default/b: gone',
    ]);
    expect(
      changeLines(after, withPod(after, pod('a', { containerStatuses: [running] })), now, false),
    ).toEqual([]);
  });

  test('are one JSON object each for machines', () => {
    const at = '2026-11-21T08:00:10.000Z';
    expect(changeLines(before, after, now, true).map((line) => JSON.parse(line) as unknown)).toEqual([
      { type: 'pod', pod: 'default/a', phase: 'Running', detail: '', ready: '1/1', restarts: 0, at },
      { type: 'gone', pod: 'default/b', at },
    ]);
    expect(
      JSON.parse(jsonNotice({ type: 'started', kubeconfig: '/k', server: 's', node: 'n' }, now)),
    ).toEqual({
      type: 'started',
      kubeconfig: '/k',
      server: 's',
      node: 'n',
      at,
    });
  });

  test('tell events about any object', () => {
    const event = {
      involvedObject: { kind: 'Node', name: 'n' },
      reason: 'Starting',
      message: 'x',
      type: 'Normal',
    } as Event;
    expect(eventLine(event, now, false)).toBe('08:00:10 node n: Starting: x');
    expect(JSON.parse(eventLine(event, now, true))).toMatchObject({
      type: 'event',
      about: { kind: 'Node', name: 'n' },
    });
  });

  test.for<readonly [readonly string[], boolean, string]>([
    [[], false, 'Stopping: no pod runs any more.'],
    [['a'], false, 'Stopping: 1 pod still runs: a. Ctrl-C again kills at once.'],
    [['a', 'b', 'c', 'd'], true, 'Killing: 4 pods still run.'],
  ])('%j still running reads well', ([pods, forced, line]) => {
    expect(stoppingLine(pods, forced)).toBe(line);
  });
});
