import { expect, test } from 'vitest';
import { cgroupFromPath, cgroupPath } from '../../src/kube/cgroup.ts';

test.for([
  ['/a/./b', '/a/b'],
  ['/a/../b', '/b'],
  ['/../b', '/b'],
  ['', '/'],
] as const)('the cgroup %s is %s, never above the root', ([written, path]) => {
  expect(cgroupPath(cgroupFromPath(written), 'cgroupfs')).toBe(path);
});
