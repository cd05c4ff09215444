import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/client.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import {
  type Backoff,
  defaultBackoff,
  defaultRetry,
  retryOnConflict,
  retryOnError,
} from '../../../src/controller/client/retry.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import { fakeClient } from '../../../src/controller/fake/index.ts';

const conflict = new ApiError(409, { reason: 'Conflict' });
const random = { float: () => 0.5, uuid: () => '', hex: () => '' };
const always = (): boolean => true;

/** Fails with these errors one after the other, then returns how often it was called. */
function failing(clock: FakeClock, ...failures: readonly unknown[]) {
  const at: number[] = [];
  const start = clock.now();
  const fn = (): number => {
    at.push(clock.now() - start);
    const failure = failures[at.length - 1];
    if (failure !== undefined) throw failure as Error;
    return at.length;
  };
  return { fn, at };
}

/** The times of the attempts of a call that always fails, and its error. */
async function timesOf(
  backoff: Backoff,
): Promise<{ readonly at: readonly number[]; readonly error: unknown }> {
  const clock = new FakeClock();
  const { fn, at } = failing(clock, ...Array.from({ length: 20 }, (_, n) => new Error(`failure ${n + 1}`)));
  const ended = retryOnError(backoff, always, fn, { clock, random }).catch((error: unknown) => error);
  await clock.advance(10_000);
  return { at, error: await ended };
}

describe('retry', () => {
  test('the default tries five times, 10 ms apart with up to a tenth more, and throws the last error', async () => {
    expect(await timesOf(defaultRetry)).toEqual({
      at: [0, 10.5, 21, 31.5, 42],
      error: new Error('failure 5'),
    });
  });

  test('the back-off for busy objects tries four times, each wait five times the last', async () => {
    expect((await timesOf(defaultBackoff)).at).toEqual([0, 10.5, 63, 325.5]);
  });

  test('waits grow up to the cap', async () => {
    expect((await timesOf({ steps: 5, duration: 10, factor: 2, cap: 25 })).at).toEqual([0, 10, 30, 55, 80]);
  });

  test('a success ends it with its value, and another error at once', async () => {
    const clock = new FakeClock();
    const twice = failing(clock, conflict, conflict);
    const done = retryOnConflict(defaultRetry, twice.fn, { clock, random });
    await clock.advance(100);
    expect(await done).toBe(3);
    const refused = new ApiError(403, { reason: 'Forbidden' });
    const once = failing(clock, refused, conflict);
    await expect(retryOnConflict(defaultRetry, once.fn, { clock, random })).rejects.toBe(refused);
    expect(once.at).toHaveLength(1);
  });

  test('a signal ends the waiting', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const { fn, at } = failing(clock, conflict, conflict, conflict);
    const ended = retryOnConflict(defaultRetry, fn, { clock, random, signal: stop.signal });
    stop.abort(new Error('leadership lost'));
    await expect(ended).rejects.toThrow('leadership lost');
    expect(at).toHaveLength(1);
  });

  test('a back-off without a step is refused', async () => {
    await expect(retryOnError({ steps: 0, duration: 1 }, always, () => 1)).rejects.toThrow(
      'backoff.steps: 0 is not allowed: at least 1 is required',
    );
  });

  test('two writers of one object both succeed', async () => {
    const client = fakeClient();
    const key = { namespace: 'default', name: 'shared' };
    await client.create(kinds.ConfigMap, { metadata: key, data: {} });
    const write = (name: string): Promise<unknown> =>
      retryOnConflict(defaultRetry, async () => {
        const map = await client.get(kinds.ConfigMap, key);
        await client.update(kinds.ConfigMap, { ...map, data: { ...map.data, [name]: 'was here' } });
      });
    await Promise.all([write('one'), write('two')]);
    const { data } = await client.get(kinds.ConfigMap, key);
    expect(data).toEqual({ one: 'was here', two: 'was here' });
  });
});
