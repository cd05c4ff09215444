import { expect, test } from 'vitest';
import { Lanes } from '../../src/simulate/lanes.ts';

test('tasks run in order, at most a number of them at once, and settle as they do', async () => {
  const lanes = new Lanes(2);
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
  const started: number[] = [];
  const results = gates.map((gate, index) =>
    lanes.run(() => {
      started.push(index);
      return gate.promise;
    }),
  );
  expect([started, lanes.waiting]).toEqual([[0, 1], 2]);
  gates[1]?.reject(new Error('no'));
  await expect(results[1]).rejects.toThrow('no');
  await Promise.resolve();
  expect(started).toEqual([0, 1, 2]);
  gates.forEach((gate, index) => {
    gate.resolve(index);
  });
  expect(await Promise.all([results[0], results[2], results[3]])).toEqual([0, 2, 3]);
});

test('thousands of tasks pass', async () => {
  const lanes = new Lanes(3);
  const all = Array.from({ length: 5000 }, (_, index) => lanes.run(() => Promise.resolve(index)));
  const sum = (await Promise.all(all)).reduce((a, b) => a + b, 0);
  expect([sum, lanes.waiting]).toEqual([(4999 * 5000) / 2, 0]);
});
