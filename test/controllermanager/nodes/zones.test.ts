import { expect, test } from 'vitest';
import {
  TaintQueue,
  taintingRate,
  zoneOf,
  Zones,
  zoneState,
} from '../../../src/controllermanager/nodes/zones.ts';
import { node } from './support.ts';

const ready = (up: number, down: number): string[] => [
  ...Array.from({ length: up }, () => 'True'),
  ...Array.from({ length: down }, () => 'Unknown'),
];

test('a zone is down when no node is ready, and partly down from three nodes and 55 %', () => {
  expect(zoneState([])).toBe('normal');
  expect(zoneState([undefined])).toBe('full');
  expect(zoneState(ready(1, 2))).toBe('normal');
  expect(zoneState(ready(2, 3))).toBe('partial');
  expect(zoneState(ready(3, 3))).toBe('normal');
});

test('a small zone that is partly down stops, a large one slows down', () => {
  expect([taintingRate('partial', 50), taintingRate('partial', 51)]).toEqual([0, 0.01]);
  expect([taintingRate('normal', 3), taintingRate('full', 3)]).toEqual([0.1, 0.1]);
});

test('zones go by their labels, newer ones first', () => {
  const beta = 'failure-domain.beta.kubernetes.io/zone';
  expect(zoneOf(node('n', { labels: { [beta]: 'old', 'topology.kubernetes.io/region': 'r' } }))).toBe(
    'r/old',
  );
  expect(zoneOf(node('n', { labels: { [beta]: 'old', 'topology.kubernetes.io/zone': 'new' } }))).toBe('/new');
});

test('a queue that waits has a whole turn of its new rate before it', () => {
  const queue = new TaintQueue();
  queue.add('a');
  expect(queue.next(0)).toBe('a');
  queue.remove('a');
  queue.add('b');
  expect(queue.next(9999)).toBeUndefined();
  queue.setRate(0.01, 5000);
  expect([queue.next(104_999), queue.next(105_000)]).toEqual([undefined, 'b']);
});

test('one zone that is down does not stop the others; all zones do', () => {
  const zones = new Zones();
  expect(
    zones.update(
      new Map([
        ['/a', ready(0, 2)],
        ['/b', ready(1, 0)],
      ]),
      0,
    ),
  ).toBeUndefined();
  expect(
    zones.update(
      new Map([
        ['/a', ready(0, 2)],
        ['/b', ready(0, 1)],
      ]),
      0,
    ),
  ).toBe('stopped');
  expect(
    zones.update(
      new Map([
        ['/a', ready(0, 2)],
        ['/b', ready(0, 1)],
      ]),
      0,
    ),
  ).toBeUndefined();
  const queue = zones.queueOf(node('n', { labels: { 'topology.kubernetes.io/zone': 'b' } }));
  queue.add('n');
  expect(queue.next(1e9)).toBeUndefined();
  expect(
    zones.update(
      new Map([
        ['/a', ready(1, 1)],
        ['/b', ready(0, 1)],
      ]),
      0,
    ),
  ).toBe('resumed');
  expect([queue.next(9999), queue.next(10_000)]).toEqual([undefined, 'n']);
});
