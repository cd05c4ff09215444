import { expect, test } from 'vitest';
import { podsToPreempt } from '../../src/admission/preemption.ts';
import type { Pod } from '../../src/kube/types.ts';

const critical: Pod = { spec: { containers: [], priority: 2_000_000_000 } };
const pod = (name: string, spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name, namespace: 'n', uid: name },
  spec: { containers: [], priority: 0, ...spec },
});
const asking = (cpu: string) => [{ name: 'c', resources: { requests: { cpu } } }];

test('the overhead of a pod makes room only beside a request', () => {
  const idle = pod('idle', { containers: [{ name: 'c' }], overhead: { cpu: '1' } });
  const busy = pod('busy', { containers: asking('250m'), overhead: { cpu: '250m' } });
  const missing = [{ resource: 'cpu', quantity: 500 }];
  expect(podsToPreempt(critical, [idle, busy], missing)).toEqual([busy]);
});

test('a pod with requests of its own makes room by those alone', () => {
  const whole = pod('whole', { containers: asking('2'), resources: { requests: { memory: '1Gi' } } });
  const missing = [{ resource: 'cpu', quantity: 500 }];
  expect(() => podsToPreempt(critical, [whole], missing)).toThrow('no set of running pods found');
});
