import { expect, test } from 'vitest';
import { activityOf, podActivity, podGone } from '../../src/app/activity.ts';
import type { RawEvent } from '../../src/api/events/event-correlator.ts';
import type { Pod } from '../../src/kube/types.ts';
import { main, pod, running } from '../support/view-pods.ts';

const ready = (status: string): NonNullable<Pod['status']> => ({ conditions: [{ type: 'Ready', status }] });
const pending = pod('p', { phase: 'Pending' });
const runs = pod('p', { containerStatuses: [running], ...ready('True') });

test.for<readonly [string, Pod | undefined, Pod, readonly string[]]>([
  ['a new pod', undefined, pending, ['info pod assigned to this node']],
  ['nothing new', runs, runs, []],
  ['a start', pending, runs, ['info pod started', 'info pod is ready']],
  ['an end', runs, pod('p', { phase: 'Succeeded', ...ready('False') }), ['info pod succeeded']],
  ['a failure', runs, pod('p', { phase: 'Failed', reason: 'Error' }), ['warn pod failed']],
  [
    'an eviction',
    runs,
    pod('p', { phase: 'Failed', reason: 'Evicted', message: 'low' }),
    ['warn pod evicted'],
  ],
  [
    'a probe that fails',
    runs,
    pod('p', { containerStatuses: [running], ...ready('False') }),
    ['info pod is not ready'],
  ],
  [
    'a deletion',
    runs,
    { ...runs, metadata: { ...runs.metadata, deletionTimestamp: 'x', deletionGracePeriodSeconds: 30 } },
    ['info pod is being deleted'],
  ],
])('%s is told in words', ([, before, after, lines]) => {
  expect(podActivity(before, after).map(({ level, message }) => `${level} ${message}`)).toEqual(lines);
});

test('a restart names the container, its count and how it ended', () => {
  const again = main(
    { running: {} },
    { ready: true, restartCount: 2, lastState: { terminated: { exitCode: 3, reason: 'Error' } } },
  );
  const after = pod('p', { containerStatuses: [again], ...ready('True') });
  expect(podActivity(runs, after)).toEqual([
    {
      level: 'info',
      message: 'container restarted',
      fields: { pod: 'default/p', uid: '', container: 'main', restarts: 2, exitCode: 3, reason: 'Error' },
    },
  ]);
});

test('a pod that is gone is removed', () => {
  expect(podGone(runs)).toMatchObject({ message: 'pod removed', fields: { pod: 'default/p' } });
});

const event = (more: Partial<RawEvent>): RawEvent => ({
  object: { kind: 'Pod', metadata: { namespace: 'default', name: 'p' } },
  fieldPath: 'spec.containers{web}',
  type: 'Warning',
  reason: 'Unhealthy',
  message: 'Liveness probe failed:\n  HTTP 500',
  annotations: undefined,
  at: 0,
  ...more,
});

test('an Event has a message for its reason, or the reason itself', () => {
  expect(activityOf(event({}))).toEqual({
    level: 'info',
    message: 'probe failed',
    fields: { pod: 'default/p', container: 'web', detail: 'Liveness probe failed: HTTP 500' },
  });
  const node = { kind: 'Node', metadata: { name: 'n' } };
  expect(activityOf(event({ object: node, fieldPath: '', reason: 'NodeReady', message: 'm' }))).toMatchObject(
    {
      message: 'node is ready',
      fields: { node: 'n' },
    },
  );
  expect(activityOf(event({ reason: 'Odd' }))).toMatchObject({
    message: 'warning event',
    fields: { reason: 'Odd' },
  });
});
