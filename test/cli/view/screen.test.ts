import { expect, test } from 'vitest';
import { finalLines, screenLines, type View } from '../../../src/cli/view/screen.ts';
import { main, modelOf, now, pod, running } from '../../support/view-pods.ts';

const pods = Array.from({ length: 40 }, (_, i) =>
  pod(`p${String(i).padStart(2, '0')}`, { containerStatuses: [running] }),
);
const broken = pod('broken', {
  containerStatuses: [main({ waiting: { reason: 'ErrImagePull', message: 'no such image' } })],
});
const view: View = {
  header: ['podtender: node n', 'export KUBECONFIG=/k'],
  model: modelOf(...pods, broken),
  notices: ['problem: a.yaml: bad', 'problem: b.yaml: worse'],
  footer: 'Ctrl-C stops all pods and ends.',
};

test.for([
  [80, 24],
  [120, 40],
  [80, 10],
  [30, 6],
  [300, 3],
] as const)('a screen of %i by %i is never overrun', ([columns, rows]) => {
  const lines = screenLines(view, now, { columns, rows, colour: false });
  expect(lines.length).toBeLessThanOrEqual(rows);
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
  expect(lines[0]).toContain('podtender: node n');
});

test('of a usual height it has header, summary, heads, failing pods, notices and footer', () => {
  const lines = screenLines(view, now, { columns: 80, rows: 24, colour: false });
  expect(lines.slice(0, 4)).toEqual([
    'podtender: node n',
    'export KUBECONFIG=/k',
    '',
    '41 pods: 1 failing, 40 running',
  ]);
  expect(lines[4]).toMatch(/^POD +STATUS +READY +RESTARTS +AGE +LAST EVENT$/);
  expect(lines[5]).toMatch(/^default\/broken +ErrImagePull/);
  expect(lines[6]).toBe('    main: ErrImagePull, no such image');
  expect(lines.slice(-4)).toEqual([...view.notices, '', view.footer]);
});

test('at the end all pods stay, however many', () => {
  const lines = finalLines(view, now, { columns: 80, rows: 24, colour: false });
  expect(lines.filter((line) => line.startsWith('default/'))).toHaveLength(41);
  expect(lines.slice(0, 2)).toEqual(view.notices);
});
