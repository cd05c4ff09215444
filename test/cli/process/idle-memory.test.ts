import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { trimIdleMemory } from '../../../src/cli/process/idle-memory.ts';

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

test('memory of a burst is released once the process is idle', async () => {
  const { clock, use, collections } = bed();
  use.heapBytes = 200 * mib;
  use.cpuMs += 4000;
  await clock.advance(2000);
  expect(collections).toHaveLength(0);
  use.cpuMs += 199;
  await clock.advance(2000);
  expect(collections).toHaveLength(1);
  await clock.advance(600_000);
  expect(collections).toHaveLength(1);
});

test.each([
  { kept: 30 * mib, left: 7.5 * mib },
  { kept: 8 * mib, left: 4 * mib },
])('of $kept bytes $left more are left alone, as little', async ({ kept, left }) => {
  const { clock, use, collections } = bed(kept);
  await clock.advance(2000);
  use.heapBytes += left;
  await clock.advance(600_000);
  expect(collections).toHaveLength(0);
  use.heapBytes += 1;
  await clock.advance(2000);
  expect(collections).toHaveLength(1);
});

test.each([
  ['a start that had little to do', 8, 0],
  ['a start that took up much again', 8.1, 1],
])('after %s, with %d MiB more, there are %d collections', async (_what, more, count) => {
  const { clock, use, collections } = bed();
  use.heapBytes += more * mib;
  use.cpuMs += 1000;
  await clock.advance(2000);
  expect(collections).toHaveLength(0);
  await clock.advance(60_000);
  expect(collections).toHaveLength(count);
});

test('what a burst leaves is measured from where the start came to rest', async () => {
  const { clock, use, collections } = bed(16 * mib);
  use.heapBytes = 20 * mib;
  await clock.advance(2000);
  use.heapBytes = 25 * mib;
  await clock.advance(60_000);
  expect(collections).toHaveLength(0);
  use.heapBytes += 1;
  await clock.advance(2000);
  expect(collections).toHaveLength(1);
});

test('ten seconds lie between two collections', async () => {
  const { clock, use, collections } = bed();
  use.heapBytes = 200 * mib;
  await clock.advance(2000);
  use.heapBytes = 200 * mib;
  await clock.advance(8000);
  expect(collections).toHaveLength(1);
  await clock.advance(2000);
  expect(collections).toHaveLength(2);
});

test('nothing happens after its end', async () => {
  const { clock, use, collections, stop } = bed();
  stop();
  use.heapBytes = 200 * mib;
  await clock.advance(60_000);
  expect(collections).toHaveLength(0);
});
