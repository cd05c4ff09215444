import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Latch } from '../../src/base/latch.ts';

test('nothing is kept of those who gave up', async () => {
  const latch = new Latch();
  const kept = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const patience = new AbortController();
      const held = { by: 'the signal' };
      const waiting = latch.wait(patience.signal);
      patience.abort(held);
      await waiting.catch(() => undefined);
      return new WeakRef(held);
    }),
  );
  await new Promise(setImmediate); // a WeakRef holds its object for the turn in which it was made
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(kept.map((ref) => ref.deref())).toEqual([undefined, undefined, undefined]);
  expect(latch.isOpen).toBe(false);
});
