import { expect, test } from 'vitest';
import { reconcileContext, RecordedQueue } from '../../../src/controller/controllertest/index.ts';
import { enqueueRequestForObject } from '../../../src/controller/index.ts';

test('RecordedQueue shows what a handler adds, and how', async () => {
  const queue = new RecordedQueue();
  const [web, db] = ['web', 'db'].map((name) => ({ namespace: 'default', name }));
  await enqueueRequestForObject.create({ object: { metadata: web! } }, queue);
  queue.addAfter(db!, 5_000);
  queue.addRateLimited(db!);
  queue.addWithOpts({ priority: 7 }, web!, db!);
  expect(queue.requests).toEqual([web, db, db, web, db]);
  expect(queue.additions.slice(1)).toEqual([
    { request: db, after: 5_000 },
    { request: db, rateLimited: true },
    { request: web, priority: 7 },
    { request: db, priority: 7 },
  ]);
  queue.clear();
  expect(queue.additions).toEqual([]);
});

test('reconcileContext has defaults, and parts replace them', () => {
  const { signal, causes, reconcileID } = reconcileContext();
  expect(signal.aborted).toBe(false);
  expect(causes).toEqual([]);
  expect(reconcileID).toMatch(/^[0-9a-f-]{36}$/);
  expect(reconcileContext({ reconcileID: 'one' }).reconcileID).toBe('one');
});
