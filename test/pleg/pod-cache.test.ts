import { expect, test } from 'vitest';
import { settle } from '../../src/base/fake-clock.ts';
import { emptyStatus, PodCache } from '../../src/pleg/pod-cache.ts';

const status = { ...emptyStatus('u'), name: 'web' };

test('a pod that is not cached is one without containers', () => {
  expect(new PodCache().get('u')).toEqual(emptyStatus('u'));
});

test('a failed inspection is thrown', () => {
  const cache = new PodCache();
  cache.set('u', status, new Error('inspect broke'), 1);
  expect(() => cache.get('u')).toThrow('inspect broke');
  expect(cache.peek('u')).toBe(status);
});

test('an answer at once needs something strictly newer, a waiter does not (R232)', async () => {
  const cache = new PodCache();
  cache.set('u', status, undefined, 5);
  expect(await cache.getNewerThan('u', 4)).toBe(status);
  let answered = false;
  const waiting = cache.getNewerThan('u', 5).then(() => (answered = true));
  await settle();
  expect(answered).toBe(false);
  cache.setObservedTime('u', 5);
  await waiting;
  expect(cache.waiting).toBe(0);
});

test('the last observation counts, also one that is told late; an inspection is never undone', async () => {
  const cache = new PodCache();
  const aborter = new AbortController();
  cache.set('u', status, undefined, 5);
  cache.setObservedTime('u', 9);
  expect(await cache.getNewerThan('u', 8)).toBe(status);
  cache.setObservedTime('u', 3);
  expect(await cache.getNewerThan('u', 4)).toBe(status);
  const waiting = cache.getNewerThan('u', 8, aborter.signal);
  await settle();
  expect(cache.waiting).toBe(1);
  aborter.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('a full pass wakes every waiter that it is new enough for', async () => {
  const cache = new PodCache();
  const early = cache.getNewerThan('a', 10);
  const late = cache.getNewerThan('b', 30);
  cache.updateTime(20);
  expect(await early).toEqual(emptyStatus('a'));
  expect(cache.waiting).toBe(1);
  cache.updateTime(30);
  await late;
});

test('who no longer waits leaves nothing behind', async () => {
  const cache = new PodCache();
  const aborter = new AbortController();
  const waiting = cache.getNewerThan('u', 1, aborter.signal);
  aborter.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(cache.getNewerThan('u', 1, aborter.signal)).rejects.toThrow('enough');
  expect(cache.waiting).toBe(0);
});

test('deleting wakes nobody', async () => {
  const cache = new PodCache();
  const aborter = new AbortController();
  cache.getNewerThan('u', 1, aborter.signal).catch(() => undefined);
  cache.delete('u');
  await settle();
  expect(cache.waiting).toBe(1);
  aborter.abort();
});
