import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/kube/types.ts';
import { ageText, cut, moodOf, restartsText, summaryLine, tableLines } from '../../../src/cli/view/table.ts';
import { podKeyOf, podRow, rowWithEvent, type ViewModel } from '../../../src/cli/view/view-model.ts';
import { main, modelOf, now, pod, running } from '../../support/view-pods.ts';

const screen = { columns: 100, rows: 24, colour: false };
const event = {
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'a' },
  reason: 'Started',
  message: 'Container\nstarted',
  lastTimestamp: '2026-11-21T08:00:07Z',
} as Event;
const model: ViewModel = new Map([
  ...modelOf(pod('b', { phase: 'Pending' })),
  ['default/a', rowWithEvent(podRow(pod('a', { containerStatuses: [running] })), event)],
]);
const longReason = `a reason of many words ${'and more of them '.repeat(8)}up to its end`;
const failing = (name: string, message = longReason): ReturnType<typeof pod> =>
  pod(name, { containerStatuses: [main({ waiting: { reason: 'CreateContainerConfigError', message } })] });

test('lists pods by name with the age of their last event', () => {
  expect(tableLines(model, now, screen, 2)).toEqual([
    'POD        STATUS   READY  RESTARTS  AGE  LAST EVENT',
    'default/a  Running  1/1    0         10s  3s Started: Container started',
    'default/b  Pending  0/1    0         10s',
  ]);
});

test('pods that fail come first, each with its full reason below, and no column is cut for it', () => {
  const lines = tableLines(
    modelOf(pod('a', { containerStatuses: [running] }), failing('z')),
    now,
    { ...screen, columns: 80 },
    2,
  );
  expect(lines[1]).toMatch(/^default\/z +CreateContainerC… +0\/1 +0 +10s/);
  expect(lines.at(-1)).toMatch(/^default\/a +Running +1\/1 +0 +10s/);
  const reason = lines.slice(2, -1);
  expect(reason.every((line) => line.startsWith('    ') && line.length <= 80)).toBe(true);
  expect(reason.map((line) => line.trim()).join(' ')).toBe(`main: CreateContainerConfigError, ${longReason}`);
});

describe('whatever the screen', () => {
  const many = modelOf(
    ...Array.from({ length: 30 }, (_, i) =>
      pod(`p${String(i).padStart(2, '0')}`, { containerStatuses: [running] }),
    ),
    failing('bad'),
    failing(`a-name-of-${'very-'.repeat(30)}many-letters`),
  );
  test.for([
    [80, 24],
    [120, 40],
    [40, 10],
    [20, 5],
    [200, 60],
  ] as const)(
    'of %i by %i, lines fit, the heads stay, and what is left out is counted',
    ([columns, rows]) => {
      const lines = tableLines(many, now, { columns, rows, colour: false }, 4);
      expect(lines.length).toBeLessThanOrEqual(Math.max(2, rows - 4));
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
      const shown = lines.slice(1).filter((line) => !/^(    |…)/.test(line)).length;
      if (shown < 32) expect(lines.at(-1)).toMatch(new RegExp(`^… and ${32 - shown} more`));
      expect(lines[0]).toMatch(/STATUS/);
    },
  );

  test('a name that is too long loses its middle, and the last event goes before the name', () => {
    const [, row = ''] = tableLines(many, now, { columns: 80, rows: 50, colour: false }, 0);
    expect(row).toMatch(/^default\/a-n…any-letters +CreateContainerC… +0\/1 +0 +10s$/);
  });
});

test('is cut to the width and height of the screen', () => {
  expect(tableLines(model, now, { ...screen, rows: 4 }, 2)).toEqual([
    'POD  STATUS  READY  RESTARTS  AGE  LAST EVENT',
    '… and 2 more: 1 not ready, 1 running',
  ]);
});

test('has colours only where they are wanted', () => {
  const lines = tableLines(model, now, { ...screen, colour: true }, 2);
  expect(lines[1]?.startsWith('\u001b[32m')).toBe(true);
  expect(lines[2]?.startsWith('\u001b[33m')).toBe(true);
});

test('an event of another object belongs to no pod', () => {
  const other = { ...event, involvedObject: { kind: 'Node', name: 'n' } } as Event;
  expect(podKeyOf(event)).toBe('default/a');
  expect(podKeyOf(other)).toBeUndefined();
});

test.for<readonly [ViewModel, string]>([
  [new Map(), 'no pods'],
  [modelOf(failing('a')), '1 pod: 1 failing'],
  [model, '2 pods: 1 not ready, 1 running'],
  [
    modelOf(failing('a'), pod('b', { containerStatuses: [running] }), pod('c', { phase: 'Succeeded' })),
    '3 pods: 1 failing, 1 running, 1 ended',
  ],
])('%s is summed up', ([given, line]) => {
  expect(summaryLine(given)).toBe(line);
});

test('a pod that runs again after a failure does not fail', () => {
  const again = main(
    { running: {} },
    { ready: true, restartCount: 2, lastState: { terminated: { exitCode: 1 } } },
  );
  expect(moodOf(modelOf(pod('p', { containerStatuses: [again] })).get('default/p')!)).toBe('good');
});

test('restarts are written as kubectl writes them', () => {
  expect(restartsText({ restarts: 0, restartedAt: now }, now)).toBe('0');
  expect(restartsText({ restarts: 3, restartedAt: now - 13_000 }, now)).toBe('3 (13s ago)');
  expect(restartsText({ restarts: 3, restartedAt: 0 }, now)).toBe('3');
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
