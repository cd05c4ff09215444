import { expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { nodeIsReady, podIsReady, ReadyCount } from '../../src/simulate/tally.ts';

const pod = (uid: string, ready?: string): Pod => ({
  metadata: { uid },
  status: { conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready }] },
});

test('objects and ready ones are counted as they change', () => {
  const count = new ReadyCount<Pod>(podIsReady);
  count.added(pod('a'));
  count.added(pod('b', 'True'));
  expect([count.total, count.ready]).toEqual([2, 1]);
  count.updated(pod('a', 'True'));
  count.updated(pod('b', 'False'));
  expect([count.total, count.ready]).toEqual([2, 1]);
  count.deleted(pod('a', 'True'));
  expect([count.total, count.ready]).toEqual([1, 0]);
});

test('a node without conditions is not ready', () => {
  expect(nodeIsReady({})).toBe(false);
  expect(nodeIsReady({ status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } })).toBe(false);
});
