import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { LineReporter } from '../../../src/cli/view/reporter.ts';
import { pod } from '../../support/view-pods.ts';

function setUp(): {
  reporter: LineReporter;
  clock: FakeClock;
  writes: string[];
  add: (name: string) => void;
} {
  const clock = new FakeClock();
  const writes: string[] = [];
  const reporter = new LineReporter({ write: (text) => writes.push(text), clock }, false);
  return {
    reporter,
    clock,
    writes,
    add: (name) => {
      reporter.pod({ type: 'set', pod: pod(name, { phase: 'Pending' }) });
    },
  };
}
const podsOf = (text: string): string[] => [...text.matchAll(/default\/\w+/g)].map(([name]) => name);

test('writes the first change at once, and those of the next 20 ms together', async () => {
  const { clock, writes, add } = setUp();
  add('a');
  expect(writes.map(podsOf)).toEqual([['default/a']]);
  add('b');
  add('c');
  expect(writes).toHaveLength(1);
  await clock.advance(20);
  expect(writes.map(podsOf)).toEqual([['default/a'], ['default/b', 'default/c']]);
  await clock.advance(1000);
  expect(writes).toHaveLength(2);
  add('d');
  expect(writes.map(podsOf).at(-1)).toEqual(['default/d']);
});

test('keeps the order of changes and notices, and loses no line at the end', () => {
  const { reporter, clock, writes, add } = setUp();
  add('a');
  add('b');
  reporter.notice({ type: 'problem', source: 'file', message: 'unreadable' });
  expect(
    writes
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^\S+ default/, 'default')),
  ).toEqual([
    expect.stringContaining('default/a'),
    expect.stringContaining('default/b'),
    'problem: file: unreadable',
  ]);
  add('c');
  reporter.close();
  expect(podsOf(writes.at(-1) ?? '')).toEqual(['default/c']);
  expect(clock.pending).toBe(0);
});
