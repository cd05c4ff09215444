import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { LastingProblems } from '../../src/agent/manifest-sources.ts';

test('a problem is new once while each listing finds it, and again after it was gone for longer than between two', async () => {
  const clock = new FakeClock();
  const problems = new LastingProblems(clock);
  const found: boolean[] = [];
  for (const waitMs of [0, 20_000, 45_000, 45_001]) {
    await clock.advance(waitMs);
    found.push(problems.isNew('/m/a', 'it is no pod'));
  }
  expect(found).toEqual([true, false, false, true]);
  expect(problems.isNew('/m/b', 'it is no pod'), 'of another manifest').toBe(true);
  expect(problems.isNew('/m/a', 'it is gone'), 'in other words').toBe(true);
});
