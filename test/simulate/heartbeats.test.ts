import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { Heartbeats } from '../../src/simulate/heartbeats.ts';

test('each beats after its offset and then in its period, all with one timer, until it is ended', async () => {
  const clock = new FakeClock(1000);
  const heartbeats = new Heartbeats(clock);
  const seen: string[] = [];
  const note = (name: string) => (): void => void seen.push(`${name}@${clock.now() - 1000}`);
  const endA = heartbeats.add(1000, 500, note('a'));
  heartbeats.add(2000, 0, note('b'));
  expect(clock.pending).toBe(1);
  await clock.advance(2600);
  expect(seen).toEqual(['b@250', 'a@500', 'a@1500', 'b@2250', 'a@2500']);
  endA();
  await clock.advance(2000);
  expect(seen.slice(5)).toEqual(['b@4250']);
  heartbeats.stop();
  expect(clock.pending).toBe(0);
});

test('a clock that jumped ahead makes up for the missed beats, and does not lose the rhythm', async () => {
  const clock = new FakeClock();
  const heartbeats = new Heartbeats(clock);
  let beats = 0;
  heartbeats.add(1000, 0, () => (beats += 1));
  clock.set(10_000);
  await clock.advance(250);
  expect(beats).toBeGreaterThanOrEqual(10);
  heartbeats.stop();
});
