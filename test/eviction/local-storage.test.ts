import { expect, test } from 'vitest';
import { localStorageViolation } from '../../src/eviction/local-storage.ts';
import type { PodStats } from '../../src/kube/stats-summary.ts';
import type { Pod } from '../../src/kube/types.ts';

const together = { dedicatedImageFs: false, splitContainerFs: false };
const apart = { dedicatedImageFs: true, splitContainerFs: false };
const podRef = { name: 'web', namespace: 'default', uid: 'u' };
const mi = 1024 * 1024;

const podOf = (limit?: string, sizeLimit?: string): Pod => ({
  metadata: podRef,
  spec: {
    containers: [
      { name: 'c', ...(limit !== undefined && { resources: { limits: { 'ephemeral-storage': limit } } }) },
    ],
    volumes: [{ name: 'cache', emptyDir: { ...(sizeLimit !== undefined && { sizeLimit }) } }],
  },
});

test.for([
  [
    'an emptyDir above its size',
    podOf('1Mi', '1Mi'),
    2 * mi,
    'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ',
  ],
  ['an emptyDir at its size', podOf(undefined, '2Mi'), 2 * mi, undefined],
  ['an emptyDir of size 0, which means any', podOf(undefined, '0'), 2 * mi, undefined],
  ['an emptyDir without a size', podOf(), 2 * mi, undefined],
] as const)('%s', ([, pod, usedBytes, message]) => {
  const stats: PodStats = { podRef, volume: [{ name: 'cache', usedBytes }] };
  const expected = message === undefined ? undefined : { signal: 'emptydirfs.limit', message };
  expect(localStorageViolation(pod, stats, together)).toEqual(expected);
});

test('a pod above the sum of its containers’ limits', () => {
  const stats: PodStats = { podRef, 'ephemeral-storage': { usedBytes: 3 * mi } };
  expect(localStorageViolation(podOf('2Mi'), stats, together)).toEqual({
    signal: 'ephemeralpodfs.limit',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
  });
  expect(localStorageViolation(podOf('3Mi'), stats, together)).toBeUndefined();
});

test('a container’s writable layer counts only where it lies with the node’s own files', () => {
  const stats: PodStats = {
    podRef,
    containers: [{ name: 'c', rootfs: { usedBytes: 2 * mi }, logs: { usedBytes: mi } }],
  };
  const message = 'Container c exceeded its local ephemeral storage limit "2Mi". ';
  expect(localStorageViolation(podOf('2Mi'), stats, together)).toEqual({
    signal: 'ephemeralcontainerfs.limit',
    message,
  });
  expect(localStorageViolation(podOf('2Mi'), stats, apart)).toBeUndefined();
});
