import { expect, test } from 'vitest';
import { Deadlines } from '../../src/base/deadlines.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';

test('a deadline passes in its time, and not once it is stopped', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const passed: string[] = [];
  deadlines.begin(100, () => passed.push('first'));
  await clock.advance(40);
  const stopped = deadlines.begin(100, () => passed.push('stopped'));
  deadlines.begin(100, () => passed.push('third'));
  deadlines.begin(20, () => passed.push('short'));
  stopped.stop();
  await clock.advance(59);
  expect(passed).toEqual(['short']);
  await clock.advance(1);
  expect(passed).toEqual(['short', 'first']);
  await clock.advance(39);
  expect(passed).toEqual(['short', 'first']);
  await clock.advance(1);
  expect(passed).toEqual(['short', 'first', 'third']);
});

test('many deadlines of one length share a timer, and none is left when the last is over', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const open = Array.from({ length: 1000 }, () => deadlines.begin(100, () => undefined));
  expect(clock.pending).toBe(1);
  for (const deadline of open) deadline.stop();
  await clock.advance(100);
  expect(clock.pending).toBe(0);
  let passed = false;
  deadlines.begin(100, () => (passed = true));
  await clock.advance(100);
  expect(passed).toBe(true);
});

test('a deadline that another begins when it passes has its whole time', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const at: number[] = [];
  const again = (): void => {
    at.push(clock.now());
    if (at.length < 3) deadlines.begin(100, again);
  };
  const start = clock.now();
  deadlines.begin(100, again);
  await clock.advance(1000);
  expect(at.map((ms) => ms - start)).toEqual([100, 200, 300]);
});

test('close stops all', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  deadlines.begin(100, () => expect.unreachable());
  deadlines.close();
  expect(clock.pending).toBe(0);
  await clock.advance(200);
});
