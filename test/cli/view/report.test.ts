import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/kube/types.ts';
import {
  changeLine,
  eventLine,
  headerLines,
  jsonNotice,
  stoppingLine,
  welcomeLines,
} from '../../../src/cli/view/report.ts';
import { podRow } from '../../../src/cli/view/view-model.ts';
import { now, pod, running } from '../../support/view-pods.ts';

describe('lines', () => {
  const pending = podRow(pod('a', { phase: 'Pending' }));
  const runs = podRow(pod('a', { containerStatuses: [running] }), pending);
  const other = podRow(pod('b'));
  const changes = [
    { key: 'default/a', before: pending, after: runs },
    { key: 'default/b', before: other, after: undefined },
  ];

  test('tell what changed, and nothing when nothing did', () => {
    expect(changes.map((change) => changeLine(change, now, false))).toEqual([
      '08:00:10 default/a: Running, ready 1/1, restarts 0',
      '08:00:10 default/b: gone',
    ]);
    const again = podRow(pod('a', { containerStatuses: [running] }), runs);
    expect(changeLine({ key: 'default/a', before: runs, after: again }, now, false)).toBeUndefined();
    expect(changeLine({ key: 'default/c', before: undefined, after: undefined }, now, false)).toBeUndefined();
  });

  test('are one JSON object each for machines', () => {
    const at = '2026-11-21T08:00:10.000Z';
    const lines = changes.map((change) => JSON.parse(changeLine(change, now, true) ?? '') as unknown);
    expect(lines).toEqual([
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

test('a node that joined a cluster prints no kubeconfig', () => {
  const notice = { type: 'started', server: 'https://s', node: 'n', joined: true } as const;
  expect(welcomeLines(notice)[0]).toBe('podtender runs node n of the cluster at https://s');
  expect(headerLines(notice)).toEqual(['podtender: node n of the cluster at https://s']);
  expect(headerLines({ ...notice, joined: undefined, kubeconfig: '/k' } as never)).toEqual([
    'podtender: node n, API server https://s',
    'export KUBECONFIG=/k',
  ]);
});
