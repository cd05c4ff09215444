import { expect, test } from 'vitest';
import { byTurn, type PendingResize } from '../../src/allocation/pending-order.ts';
import { resizePendingMessage, resizeStartedMessage } from '../../src/allocation/resize-messages.ts';
import type { Pod } from '../../src/kube/types.ts';

interface Wish {
  readonly has?: string;
  readonly wants?: string;
  readonly priority?: number;
  readonly guaranteed?: boolean;
  readonly since?: number;
}

function waiting(name: string, wish: Wish): PendingResize {
  const { has = '1', wants = '2', priority, guaranteed, since } = wish;
  const podWith = (cpu: string): Pod => ({
    metadata: { name },
    spec: {
      ...(priority !== undefined && { priority }),
      containers: [
        {
          name: 'c',
          resources: {
            requests: { cpu, memory: '1Gi' },
            ...(guaranteed && { limits: { cpu, memory: '1Gi' } }),
          },
        },
      ],
    },
  });
  return { pod: podWith(wants), allocated: podWith(has), ...(since !== undefined && { since }) };
}

test.for([
  ['who asks for less than it has comes first', [{}, { wants: '500m' }], 'b a'],
  ['who asks for less comes before a priority', [{ priority: 9 }, { wants: '1' }], 'b a'],
  ['a priority counts', [{ priority: 1 }, { priority: 2 }], 'b a'],
  ['none counts as 0', [{ priority: -1 }, {}], 'b a'],
  ['a priority comes before the quality of service', [{ guaranteed: true }, { priority: 1 }], 'b a'],
  ['guaranteed pods come before burstable ones', [{}, { guaranteed: true }], 'b a'],
  ['who waits longer comes first', [{ since: 2000 }, { since: 1000 }], 'b a'],
  ['who was not yet told to wait comes last', [{}, { since: 9000 }], 'b a'],
  ['equals keep their order', [{}, {}], 'a b'],
] as const)('%s', ([, [a, b], wanted]) => {
  const turn = byTurn([waiting('a', a), waiting('b', b)]);
  expect(turn.map(({ pod }) => pod.metadata?.name).join(' ')).toBe(wanted);
});

const pod: Pod = {
  spec: {
    initContainers: [{ name: 'i', resources: { requests: { memory: '1Gi', cpu: '1' } } }],
    containers: [
      { name: 'c', resources: { requests: {}, limits: { cpu: '2' }, claims: [{ name: 'x' }] } },
      { name: 'd' },
    ],
  },
};
const resources =
  '"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],' +
  '"containers":[{"name":"c","resources":{"limits":{"cpu":"2"},"claims":[{"name":"x"}]}},{"name":"d","resources":{}}]';

test('events tell each container in the order of Go', () => {
  expect(resizeStartedMessage(pod, 3)).toBe(`Pod resize started: {${resources},"generation":3}`);
  expect(resizePendingMessage(pod, 4, { reason: 'Infeasible', message: 'a<b' })).toBe(
    `Pod resize Infeasible: {${resources},"generation":4,"error":"a\\u003cb"}`,
  );
});
