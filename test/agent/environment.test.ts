import { expect, test } from 'vitest';
import { sortedPodIps } from '../../src/agent/pod-resources/environment.ts';

test.each([
  [['fd00:0:0::1', '10.1.1.1', '10.1.1.2'], ['192.168.0.5', 'fd00::5'], '10.1.1.1,fd00::1'],
  [['10.1.1.1', 'fd00:0:0::1'], ['fd00::5'], 'fd00::1,10.1.1.1'],
  [['fd00::1'], [], 'fd00::1'],
])('of %j a process on the node %j sees %s', (podIps, hostIps, seen) => {
  expect(sortedPodIps(podIps, hostIps).join(',')).toBe(seen);
});
