import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { trimIdleMemory } from '../../src/cli/idle-memory.ts';

const mib = 1024 * 1024;

function bed(heapBytes = 30 * mib): {
  readonly clock: FakeClock;
  readonly use: { cpuMs: number; heapBytes: number };
  readonly collections: number[];
  readonly stop: () => void;
} {
  const clock = new FakeClock();
  const use = { cpuMs: 0, heapBytes };
  const collections: number[] = [];
  const collect = (): void => {
    collections.push(clock.now());
    use.heapBytes = 40 * mib;
    use.cpuMs += 2000; // its own price is no work of the process
  };
  const stop = trimIdleMemory({ clock, sample: () => ({ ...use }), collect });
  return { clock, use, collections, stop };
}

test('what a burst left is given back once the process is idle', async () => {
  const { clock, use, collections } = bed();
  use.heapBytes = 200 * mib;
  use.cpuMs += 4000;
  await clock.advance(5000);
  expect(collections).toHaveLength(0);
  use.cpuMs += 499;
  await clock.advance(5000);
  expect(collections).toHaveLength(1);
  await clock.advance(600_000);
  expect(collections).toHaveLength(1);
});

test.each([
  { kept: 30 * mib, left: 7.5 * mib },
  { kept: 8 * mib, left: 4 * mib },
])('of $kept bytes $left more are left alone, as little', async ({ kept, left }) => {
  const { clock, use, collections } = bed(kept);
  use.heapBytes += left;
  await clock.advance(600_000);
  expect(collections).toHaveLength(0);
  use.heapBytes += 1;
  await clock.advance(5000);
  expect(collections).toHaveLength(1);
});

test('half a minute lies between two collections', async () => {
  const { clock, use, collections } = bed();
  use.heapBytes = 200 * mib;
  await clock.advance(5000);
  use.heapBytes = 200 * mib;
  await clock.advance(25_000);
  expect(collections).toHaveLength(1);
  await clock.advance(5000);
  expect(collections).toHaveLength(2);
});

test('nothing happens after its end', async () => {
  const { clock, use, collections, stop } = bed();
  stop();
  use.heapBytes = 200 * mib;
  await clock.advance(60_000);
  expect(collections).toHaveLength(0);
});
