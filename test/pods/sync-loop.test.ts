import { Subject } from 'rxjs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import { SyncLoop } from '../../src/pods/sync-loop.ts';

interface Input {
  readonly type: 'tick' | 'work';
}

let clock: FakeClock;
let inputs: Subject<Input>;
let handled: string[];
let errors: string[];
let idle: boolean;
let loop: SyncLoop<Input>;
let stop: AbortController;
let ended: Promise<void>;
let blocked: Promise<void> | undefined;

beforeEach(async () => {
  clock = new FakeClock();
  inputs = new Subject();
  [handled, errors, idle, blocked] = [[], [], true, undefined];
  stop = new AbortController();
  loop = new SyncLoop<Input>({
    clock,
    logger,
    runtimeErrors: () => errors,
    handle: ({ type }) => {
      handled.push(type);
      return blocked;
    },
    coalesce: new Set(['tick']),
    isIdle: ({ type }) => type === 'tick' && idle,
  });
  ended = loop.run(inputs, stop.signal);
  await settle();
});

afterEach(async () => {
  stop.abort();
  await ended;
});

test('an idle tick is not handled, and still counts as an iteration (R37)', async () => {
  await clock.advance(5000);
  inputs.next({ type: 'tick' });
  await settle();
  expect(handled).toEqual([]);
  expect(loop.lastIteration).toEqual({ startedAt: 5000, endedAt: 5000 });
  idle = false;
  inputs.next({ type: 'tick' });
  inputs.next({ type: 'tick' });
  await settle();
  expect(handled).toEqual(['tick']);
});

test('an idle tick while a handler runs does not hide that the handler is stuck (R37)', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  blocked = promise;
  inputs.next({ type: 'work' });
  await settle();
  await clock.advance(1000);
  inputs.next({ type: 'tick' });
  await settle();
  expect(loop.lastIteration).toEqual({ startedAt: 0 });
  blocked = undefined;
  resolve(undefined);
  await settle();
  expect(handled).toEqual(['work', 'tick']);
});

test('an idle tick waits like any other input while the runtime is unhealthy (R36)', async () => {
  errors = ['container runtime is down'];
  inputs.next({ type: 'tick' });
  await settle();
  expect(loop.lastIteration).toBeUndefined();
  errors = [];
  await clock.advance(100);
  expect(handled).toEqual(['tick']);
});
