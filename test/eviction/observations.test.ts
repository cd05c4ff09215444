import { expect, test } from 'vitest';
import { evictionMessage } from '../../src/eviction/message.ts';
import { mergeThresholds, pressuresOf, thresholdsMet } from '../../src/eviction/assess.ts';
import { observationsOf } from '../../src/eviction/observations.ts';
import { nodeReclaimsFor } from '../../src/eviction/manager.ts';
import { statsByUid, type StatsSummary } from '../../src/kube/stats-summary.ts';
import { parseThresholds } from '../../src/eviction/thresholds.ts';
import { podDiskUsage } from '../../src/eviction/usage.ts';
import { formatQuantity, valueOf } from '../../src/kube/resources/quantity.ts';
import type { Pod } from '../../src/kube/types.ts';

const gi = 1024 ** 3;
const time = '2026-03-04T05:06:07Z';

test('a signal that was not measured is not observed', () => {
  const summary: StatsSummary = {
    node: {
      memory: { time, availableBytes: gi },
      fs: { inodesFree: 1 },
      rlimit: { maxpid: null, curproc: 1 },
    },
  };
  expect(observationsOf(summary)).toEqual({});
});

test('each signal is read from its place', () => {
  const fs = { time, availableBytes: gi, capacityBytes: 4 * gi, inodesFree: 5, inodes: 9 };
  const observed = observationsOf({
    node: {
      memory: { time, availableBytes: gi, workingSetBytes: gi },
      systemContainers: [{ name: 'pods', memory: { availableBytes: 3 * gi, workingSetBytes: gi } }],
      fs,
      runtime: { imageFs: fs, containerFs: { ...fs, availableBytes: 2 * gi } },
      rlimit: { time, maxpid: 100, curproc: 30 },
    },
  });
  const shown = Object.entries(observed).map(
    ([signal, { available, capacity, at }]) =>
      `${signal} ${formatQuantity(available)} of ${formatQuantity(capacity)}${at === undefined ? '' : ', timed'}`,
  );
  expect(shown.toSorted()).toEqual([
    'allocatableMemory.available 3Gi of 4Gi',
    'containerfs.available 2Gi of 4Gi, timed',
    'containerfs.inodesFree 5 of 9, timed',
    'imagefs.available 1Gi of 4Gi, timed',
    'imagefs.inodesFree 5 of 9, timed',
    'memory.available 1Gi of 2Gi, timed',
    'nodefs.available 1Gi of 4Gi, timed',
    'nodefs.inodesFree 5 of 9, timed',
    'pid.available 70 of 100, timed',
  ]);
});

test('a threshold is met below its value, and with its minimum reclaim until that is there as well', () => {
  const thresholds = parseThresholds({
    evictionHard: { 'memory.available': '1Gi' },
    evictionMinimumReclaim: { 'memory.available': '50%' },
  });
  const metWith = (availableBytes: number): readonly boolean[] => {
    const memory = { availableBytes, workingSetBytes: 4 * gi - availableBytes };
    const observed = observationsOf({ node: { memory } });
    return [false, true].map((enforce) => thresholdsMet(thresholds, observed, enforce).length > 0);
  };
  expect(metWith(gi - 1)).toEqual([true, true]);
  expect(metWith(gi)).toEqual([false, true]);
  expect(metWith(3 * gi)).toEqual([false, false]);
});

test('equal thresholds are merged, however their amounts are written', () => {
  const read = (text: string): ReturnType<typeof parseThresholds> =>
    parseThresholds({ evictionHard: { 'memory.available': text } });
  expect(mergeThresholds(read('1Gi'), read('1024Mi')).length).toBe(1);
  expect(mergeThresholds(read('10%'), read('10.0%')).length).toBe(1);
  expect(mergeThresholds(read('10%'), read('1Gi')).length).toBe(2);
});

test('several signals of one file system are one pressure', () => {
  const thresholds = parseThresholds({
    evictionHard: { 'nodefs.available': '1', 'imagefs.inodesFree': '1', 'pid.available': '1' },
  });
  expect(pressuresOf(thresholds)).toEqual(['DiskPressure', 'PIDPressure']);
});

test.for([
  ['nodefs.available', false, false, ['deadContainers', 'unusedImages']],
  ['nodefs.available', true, false, []],
  ['imagefs.inodesFree', true, false, ['deadContainers', 'unusedImages']],
  ['imagefs.available', true, true, ['unusedImages']],
  ['containerfs.available', true, true, ['deadContainers']],
  ['memory.available', false, false, []],
  ['pid.available', true, true, []],
] as const)(
  'for %s, images apart: %s, split: %s, the node gives up %o',
  ([signal, dedicated, split, expected]) => {
    const layout = { dedicatedImageFs: dedicated, splitContainerFs: split };
    expect(nodeReclaimsFor(signal, layout)).toEqual(expected);
  },
);

test.for([
  [{ name: 'v', emptyDir: {} }, true],
  [{ name: 'v', emptyDir: { medium: 'Memory' } }, false],
  [{ name: 'v', emptyDir: { medium: 'HugePages' } }, false],
  [{ name: 'v', hostPath: { path: '/x' } }, true],
  [{ name: 'v', configMap: {} }, true],
  [{ name: 'v', secret: {} }, false],
] as const)('%o lies on the node’s disk: %s', ([volume, counts]) => {
  const pod: Pod = { spec: { containers: [], volumes: [volume] } };
  const stats = {
    podRef: { name: '', namespace: '', uid: '' },
    volume: [{ name: 'v', usedBytes: 7, inodesUsed: 2 }],
  };
  const parts = new Set(['localVolumes'] as const);
  expect(valueOf(podDiskUsage(pod, stats, parts, 'ephemeral-storage'))).toBe(counts ? 7 : 0);
  expect(valueOf(podDiskUsage(pod, stats, parts, 'inodes'))).toBe(counts ? 2 : 0);
});

const nothing = { thresholds: [], observations: {} };
const podRef = { name: 'web', namespace: 'default', uid: 'u' };
const pod: Pod = {
  metadata: podRef,
  spec: {
    resources: { requests: { memory: '1Gi' } },
    containers: [{ name: 'c', resources: { requests: { 'ephemeral-storage': '1Gi' } } }],
    initContainers: [{ name: 'i' }],
  },
};

test('a pod that asks for memory as a whole is named as a whole', () => {
  const stats = statsByUid({ node: {}, pods: [{ podRef, memory: { workingSetBytes: 2 * gi } }] });
  expect(evictionMessage('memory', pod, { stats, ...nothing })).toEqual({
    message:
      'The node was low on resource: memory. Pod web was using 2Gi, request is 1Gi, has larger consumption of memory. ',
    annotations: {
      offending_pod: 'web',
      offending_pod_usage: '2Gi',
      offending_containers: '',
      offending_containers_usage: '',
      starved_resource: 'memory',
    },
  });
});

test('of storage, each container above its request is named, writable layer and logs together', () => {
  const fs = { usedBytes: gi };
  const containers = [
    { name: 'c', rootfs: fs, logs: fs },
    { name: 'i', rootfs: fs, logs: fs },
    { name: 'unknown', rootfs: fs, logs: fs },
    { name: 'i', rootfs: fs },
  ];
  const stats = statsByUid({ node: {}, pods: [{ podRef, containers }] });
  const { annotations } = evictionMessage('ephemeral-storage', pod, { stats, ...nothing });
  expect(annotations['offending_containers']).toBe('c,i');
  expect(annotations['offending_containers_usage']).toBe('2Gi,2Gi');
});

test('of a pod without statistics nothing more is known', () => {
  expect(evictionMessage('pids', pod, { stats: () => undefined, ...nothing })).toEqual({
    message: 'The node was low on resource: pids. ',
    annotations: {},
  });
});
