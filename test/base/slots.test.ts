import { expect, test } from 'vitest';
import { Slots } from '../../src/base/slots.ts';

/** A job that runs until its `end` is called. */
function job(): { readonly run: () => Promise<string>; end(): void; readonly isRunning: () => boolean } {
  const ends = Promise.withResolvers<undefined>();
  let running = false;
  return {
    run: async () => {
      running = true;
      await ends.promise;
      running = false;
      return 'done';
    },
    end: () => {
      ends.resolve(undefined);
    },
    isRunning: () => running,
  };
}
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('jobs beyond the limit wait, and run in their order', async () => {
  const slots = new Slots(1);
  const [a, b, c] = [job(), job(), job()] as const;
  const all = [a, b, c].map(({ run }) => slots.run(run));
  await settle();
  expect([a, b, c].map((one) => one.isRunning())).toEqual([true, false, false]);
  a.end();
  await settle();
  expect([b, c].map((one) => one.isRunning())).toEqual([true, false]);
  b.end();
  c.end();
  expect(await Promise.all(all)).toEqual(['done', 'done', 'done']);
});

test('without a limit every job runs at once', async () => {
  const slots = new Slots();
  const jobs = [job(), job(), job()];
  const all = jobs.map(({ run }) => slots.run(run));
  await settle();
  expect(jobs.every((one) => one.isRunning())).toBe(true);
  for (const one of jobs) one.end();
  await Promise.all(all);
});

test('a wait that is aborted ends at once, and its slot is not lost', async () => {
  const slots = new Slots(1);
  const [a, b, c] = [job(), job(), job()] as const;
  const first = slots.run(a.run);
  const cancel = new AbortController();
  const second = slots.run(b.run, cancel.signal);
  const third = slots.run(c.run);
  cancel.abort(new Error('no longer wanted'));
  await expect(second).rejects.toThrow('no longer wanted');
  a.end();
  c.end();
  await Promise.all([first, third]);
  expect(b.isRunning()).toBe(false);
  const last = job();
  last.end();
  expect(await slots.run(last.run)).toBe('done');
});

test('a job that is not started has no slot when its signal has aborted before', async () => {
  const slots = new Slots(1);
  const never = job();
  await expect(slots.run(never.run, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  expect(never.isRunning()).toBe(false);
  const next = job();
  next.end();
  expect(await slots.run(next.run)).toBe('done');
});

test('a job that fails frees its slot', async () => {
  const slots = new Slots(1);
  await expect(slots.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  const next = job();
  next.end();
  expect(await slots.run(next.run)).toBe('done');
});
