import { expect, test } from 'vitest';
import { steadyNow, systemClock } from '../../src/base/clock.ts';
import { Emitter } from '../../src/base/emitter.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { Latch } from '../../src/base/latch.ts';
import { jitter, systemRandom } from '../../src/base/random.ts';

test('a latch lets through whoever waits and whoever comes later', async () => {
  const latch = new Latch();
  const waiting = [latch.wait(), latch.wait(new AbortController().signal)];
  expect(latch.isOpen).toBe(false);
  latch.open();
  latch.open();
  await Promise.all([...waiting, latch.wait()]);
  expect(latch.isOpen).toBe(true);
});

test('who gives up waiting at a latch is told why, and the others go on waiting', async () => {
  const latch = new Latch();
  const controller = new AbortController();
  const given = latch.wait(controller.signal);
  controller.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  await expect(latch.wait(controller.signal)).rejects.toThrow('enough');
  const other = latch.wait();
  latch.open();
  await other;
});

test('a listener hears its name until it is let go', () => {
  const emitter = new Emitter<{ a: [number]; b: [] }>();
  const heard: number[] = [];
  const stop = emitter.on('a', (n) => heard.push(n));
  emitter.emit('a', 1);
  emitter.emit('b');
  expect(emitter.listenerCount('a')).toBe(1);
  stop();
  emitter.emit('a', 2);
  expect(heard).toEqual([1]);
  expect(emitter.listenerCount('a')).toBe(0);
});

test('a clock that is set tells another time, and spans stay what they are', async () => {
  const clock = new FakeClock(1000);
  let fired = 0;
  clock.timer(50, () => fired++);
  clock.jump(-900);
  expect([clock.now(), steadyNow(clock), fired]).toEqual([100, 1000, 0]);
  await clock.advance(50);
  expect([clock.now(), steadyNow(clock), fired]).toEqual([150, 1050, 1]);
  clock.set(500);
  expect([clock.now(), steadyNow(clock)]).toEqual([500, 1400]);
  expect(steadyNow({ now: () => 7 })).toBe(7);
  expect(Math.abs(steadyNow(systemClock) - systemClock.now())).toBeLessThan(60_000);
  // what happens within one millisecond has an order
  expect(Array.from({ length: 100 }, () => steadyNow(systemClock)).every(Number.isInteger)).toBe(false);
});

test('timers of the fake clock fire in the order of their time, and of their making where that is the same', async () => {
  const clock = new FakeClock(100);
  const fired: string[] = [];
  clock.timer(20, () => fired.push(`late ${clock.now()}`));
  clock.timer(10, () => fired.push(`first ${clock.now()}`));
  clock.timer(10, () => fired.push(`second ${clock.now()}`));
  clock.timer(-5, () => fired.push(`at once ${clock.now()}`));
  clock.timer(15, () => fired.push('never'))();
  const sleep = clock.sleep(10).then(() => fired.push(`slept ${clock.now()}`));
  await clock.advance(9);
  expect(fired).toEqual(['at once 100']);
  await clock.advance(50);
  await sleep;
  expect(fired).toEqual(['at once 100', 'first 110', 'second 110', 'slept 110', 'late 120']);
  expect([clock.now(), clock.pending]).toEqual([159, 0]);
});

test('a sleep of either clock ends when it is aborted, with the reason', async () => {
  for (const clock of [new FakeClock(), systemClock]) {
    const controller = new AbortController();
    const sleep = clock.sleep(60_000, controller.signal);
    controller.abort(new Error('woken'));
    await expect(sleep).rejects.toThrow();
    await expect(clock.sleep(1, controller.signal)).rejects.toThrow();
  }
});

test('a timer of the system clock fires once, unless it is stopped', async () => {
  const fired: string[] = [];
  const stop = systemClock.timer(1, () => fired.push('stopped'));
  stop();
  await new Promise<void>((resolve) => {
    systemClock.timer(1, () => {
      fired.push('fired');
      resolve();
    });
    void systemClock.sleep(50);
  });
  await settle();
  expect(fired).toEqual(['fired']);
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
});

test('jitter adds at most its part', () => {
  const at = (float: number) => jitter({ ...systemRandom, float: () => float }, 1000, 0.5);
  expect([at(0), at(0.5)]).toEqual([1000, 1250]);
  for (let i = 0; i < 100; i++) {
    const float = systemRandom.float();
    expect(float >= 0 && float < 1).toBe(true);
  }
  expect(systemRandom.hex(4)).toMatch(/^[0-9a-f]{8}$/);
  expect(systemRandom.uuid()).toMatch(/^[0-9a-f-]{36}$/);
});
