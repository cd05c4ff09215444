import { expect, test } from 'vitest';
import type {
  ContainerUpdate,
  ResourceNumbers,
} from '../../../../src/containers/kuberuntime/actions/pod-actions.ts';
import {
  growth,
  memoryFault,
  type PodCgroupChange,
  resizePlan,
  type ResizeStep,
  shrinksMemory,
} from '../../../../src/containers/kuberuntime/resize/resize-plan.ts';

const mebi = 2 ** 20;
const numbers = (cpu: number, memory: number): ResourceNumbers => ({
  cpuLimitMilli: cpu,
  cpuRequestMilli: cpu,
  memoryLimit: memory * mebi,
  memoryRequest: memory * mebi,
});

const update = (from: readonly [number, number], to: readonly [number, number]): ContainerUpdate => ({
  id: 'memory://c',
  name: 'c',
  current: numbers(...from),
  desired: numbers(...to),
});

const updates = (
  cpu: readonly ContainerUpdate[],
  memory: readonly ContainerUpdate[],
  more: { updatePodResources?: boolean; updatePodLevelResources?: boolean } = {},
) => ({
  containersToUpdate: { cpu: [...cpu], memory: [...memory] },
  updatePodResources: false,
  updatePodLevelResources: false,
  ...more,
});

const limits = (cpu: number, memory?: number) => ({
  cpuShares: cpu,
  cpuQuota: cpu * 100,
  cpuPeriod: 100_000,
  ...(memory !== undefined && { memory: memory * mebi }),
});

/** A step in short: `pod memory=…`, `c cpu/memory`. */
const text = (step: ResizeStep): string =>
  step.type === 'pod'
    ? `pod ${Object.entries(step.limits)
        .filter(([key]) => key !== 'cpuPeriod')
        .map(([key, value]) => `${key}=${key === 'memory' ? value / mebi : value}`)
        .join(' ')}`
    : `${step.update.name} ${step.resources.cpuLimitMilli}/${step.resources.memoryLimit / mebi}`;

const plan = (wanted: Parameters<typeof resizePlan>[0], cgroup: PodCgroupChange | undefined): string[] =>
  resizePlan(wanted, cgroup).map(text);

test('a pod grows before its containers, limits before requests', () => {
  const more = update([100, 64], [200, 128]);
  expect(plan(updates([more], [more]), { current: limits(100, 64), desired: limits(200, 128) })).toEqual([
    'pod memory=128',
    'c 100/128',
    'pod cpuQuota=20000',
    'pod cpuShares=200',
    'c 200/128',
  ]);
});

test('a pod shrinks after its containers, requests before limits', () => {
  const less = update([200, 128], [100, 64]);
  expect(plan(updates([less], [less]), { current: limits(200, 128), desired: limits(100, 64) })).toEqual([
    'c 200/64',
    'pod memory=64',
    'c 100/64',
    'pod cpuShares=100',
    'pod cpuQuota=10000',
  ]);
});

test('each resource goes its own way', () => {
  const mixed = update([200, 64], [100, 128]);
  expect(plan(updates([mixed], [mixed]), { current: limits(200, 64), desired: limits(100, 128) })).toEqual([
    'pod memory=128',
    'c 200/128',
    'c 100/128',
    'pod cpuShares=100',
    'pod cpuQuota=10000',
  ]);
});

test('what does not change is not written', () => {
  const cpu = update([100, 64], [200, 64]);
  expect(plan(updates([cpu], []), { current: limits(100, 64), desired: limits(200, 64) })).toEqual([
    'pod cpuQuota=20000',
    'pod cpuShares=200',
    'c 200/64',
  ]);
});

test('a container that restarts, or the pod as a whole, changes the cgroup alone', () => {
  const change = { current: limits(100, 64), desired: limits(150, 64) };
  for (const more of [{ updatePodResources: true }, { updatePodLevelResources: true }])
    expect(plan(updates([], [], more), change)).toEqual(['pod cpuQuota=15000', 'pod cpuShares=150']);
});

test('a limit that the pod has no more stays, one that it did not have comes last', () => {
  const none = { cpuShares: 100 };
  expect(
    plan(updates([], [], { updatePodResources: true }), { current: limits(100, 64), desired: none }),
  ).toEqual([]);
  expect(
    plan(updates([], [], { updatePodResources: true }), {
      current: { cpuShares: 100 },
      desired: limits(100, 64),
    }),
  ).toEqual(['pod memory=64', 'pod cpuQuota=10000']);
});

test.for([
  [
    'more of both',
    limits(100, 64),
    limits(200, 128),
    { cpuQuota: 20_000, cpuPeriod: 100_000, memory: 128 * mebi },
  ],
  ['more CPU', limits(100, 64), limits(200, 64), { cpuQuota: 20_000, cpuPeriod: 100_000 }],
  ['less of both', limits(200, 128), limits(100, 64), {}],
  ['a limit where there was none', { cpuShares: 100, cpuQuota: -1 }, limits(100, 64), {}],
  ['no limit any more', limits(100, 64), { cpuShares: 100 }, {}],
  ['the same', limits(100, 64), limits(100, 64), {}],
] as const)('what starts in a pod that has to have %s', ([, current, desired, grown]) => {
  expect(growth({ current, desired })).toEqual(grown);
});

test('a pod without a cgroup of its own has containers alone', () => {
  const more = update([100, 64], [200, 128]);
  expect(plan(updates([more], [more], { updatePodResources: true }), undefined)).toEqual([
    'c 100/128',
    'c 200/128',
  ]);
});

const less = updates([], [update([100, 128], [100, 64])]);
const lessChange = { current: limits(100, 128), desired: limits(100, 64) };

test.for([
  ['less is in use', { pod: 50, c: 40 }, undefined],
  [
    "the pod and its container use more, and both are told with the pod's number, as the kubelet tells them",
    { pod: 100, c: 90 },
    `cannot decrease memory limits: [attempting to set pod memory limit (${64 * mebi}) below current usage (${100 * mebi}), attempting to set container "c" memory limit (${64 * mebi}) below current usage (${100 * mebi})]`,
  ],
  [
    'the pod alone uses more',
    { pod: 64, c: 1 },
    `cannot decrease memory limits: attempting to set pod memory limit (${64 * mebi}) below current usage (${64 * mebi})`,
  ],
  [
    'nothing is known',
    {},
    'cannot decrease memory limits: [missing pod memory usage, missing container "c" memory usage]',
  ],
] as const)('memory shrinks, and %s', ([, used, wanted]) => {
  const { pod, c } = { pod: undefined, c: undefined, ...used };
  const fault = memoryFault(less, lessChange, {
    ...(pod !== undefined && { pod: pod * mebi }),
    containers: new Map(c === undefined ? [] : [['c', c * mebi]]),
  });
  expect(fault).toBe(wanted);
});

test('the usage is not read when no limit shrinks', () => {
  expect(shrinksMemory(less, lessChange)).toBe(true);
  expect(shrinksMemory(less, undefined)).toBe(true);
  const more = updates([], [update([100, 64], [100, 128])]);
  expect(shrinksMemory(more, { current: limits(100, 64), desired: limits(100, 128) })).toBe(false);
  const cpu = updates([update([200, 64], [100, 64])], []);
  expect(shrinksMemory(cpu, { current: limits(200, 128), desired: limits(100, 64) })).toBe(false);
});
