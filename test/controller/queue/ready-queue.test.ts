import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ReadyEntry, ReadyQueue } from '../../../src/controller/queue/ready-queue.ts';

interface Entry extends ReadyEntry {
  priority: number;
  order: number;
}
const entry = (priority: number, order: number): Entry => ({ priority, order, bucket: undefined });
const drained = (queue: ReadyQueue<Entry>): readonly (readonly [number, number])[] => {
  const all: (readonly [number, number])[] = [];
  for (let next = queue.pop(); next; next = queue.pop()) all.push([next.priority, next.order]);
  return all;
};

test('33 entries come by priority and order, however they were put in, moved and taken (properties)', () => {
  const act = fc.record({
    take: fc.boolean(),
    priority: fc.integer({ min: -12, max: 12 }),
    order: fc.integer({ min: 0, max: 10_000 }),
    moved: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
      const queue = new ReadyQueue<Entry>();
      const model = new Set<Entry>();
      const first = (): Entry | undefined =>
        [...model].sort((a, b) => b.priority - a.priority || a.order - b.order)[0];
      for (const { take, priority, order, moved } of acts) {
        if (take) {
          const wanted = first();
          expect(queue.pop()).toBe(wanted);
          if (wanted) model.delete(wanted);
        } else if (moved === 0 && model.size > 0) {
          // raised, as a request that is asked for with a higher priority
          const [raised] = model as unknown as Iterable<Entry>;
          if (!raised || [...model].some((one) => one.order === order)) continue;
          raised.priority += 1;
          raised.order = order;
          queue.push(raised);
        } else if (![...model].some((one) => one.order === order)) {
          const added = entry(priority, order);
          model.add(added);
          queue.push(added);
        }
      }
      const rest = [...model].sort((a, b) => b.priority - a.priority || a.order - b.order);
      expect(drained(queue)).toEqual(rest.map((one) => [one.priority, one.order]));
    }),
  );
});

test('34 a long queue gives back the places of those that have left, and loses none', () => {
  const queue = new ReadyQueue<Entry>();
  const all = Array.from({ length: 10_000 }, (_, order) => entry(0, order));
  for (const one of all) queue.push(one);
  for (const one of all.slice(0, 6_000)) {
    one.priority = 1;
    one.order += 10_000;
    queue.push(one);
  }
  const orders = drained(queue).map(([, order]) => order);
  expect(orders).toEqual([
    ...Array.from({ length: 6_000 }, (_, at) => 10_000 + at),
    ...Array.from({ length: 4_000 }, (_, at) => 6_000 + at),
  ]);
});

test('35 an emptied queue is used again', () => {
  const queue = new ReadyQueue<Entry>();
  queue.push(entry(0, 1));
  const kept = entry(0, 2);
  queue.push(kept);
  queue.clear();
  expect(queue.pop()).toBeUndefined();
  queue.push(kept);
  expect(queue.pop()).toBe(kept);
});
