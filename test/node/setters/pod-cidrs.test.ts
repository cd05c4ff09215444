import { expect, test } from 'vitest';
import { podCidrs } from '../../../src/node/setters/pod-cidrs.ts';

test('the runtime gets the pod CIDRs when they change, and again after a failure', async () => {
  const told: string[] = [];
  let failing = false;
  const setter = podCidrs(async (cidrs) => {
    if (failing) throw new Error('away');
    told.push(cidrs);
  });
  const round = (...cidrs: readonly string[]): unknown => setter({ spec: { podCIDRs: [...cidrs] } }, 0);
  await setter({}, 0);
  await round('10.1.0.0/24');
  await round('10.1.0.0/24');
  failing = true;
  expect(await round('10.1.0.0/24', 'fd00::/64')).toMatchObject({ error: 'failed to update pod CIDR: away' });
  failing = false;
  await round('10.1.0.0/24', 'fd00::/64');
  await round();
  expect(told).toEqual(['10.1.0.0/24', '10.1.0.0/24,fd00::/64']);
});
