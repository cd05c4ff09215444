import { expect, test } from 'vitest';
import { KeyedRandom } from '../../src/simulate/keyed-random.ts';

test('a number depends on seed and key only, not on what was drawn before', () => {
  const one = new KeyedRandom('7');
  const other = new KeyedRandom('7');
  other.float('x');
  expect(one.float('pod', 3)).toBe(other.float('pod', 3));
  expect(one.float('pod', 3)).not.toBe(one.float('pod', 4));
  expect(new KeyedRandom('8').float('pod', 3)).not.toBe(one.float('pod', 3));
});

test('numbers of neighbouring keys are spread over the whole range', () => {
  const chance = new KeyedRandom('0');
  const tenths = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) {
    const at = Math.floor(chance.float('node', `node-${i}`) * 10);
    tenths[at] = (tenths[at] ?? 0) + 1;
  }
  for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test('a sequence replays, and its UUIDs are of version 4', () => {
  const [first, second] = [new KeyedRandom('1').of('m'), new KeyedRandom('1').of('m')];
  const uuid = first.uuid();
  expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(second.uuid()).toBe(uuid);
  expect(first.hex(4)).toMatch(/^[\da-f]{8}$/);
  expect(first.float()).not.toBe(first.float());
});
