import { expect, test } from 'vitest';
import type {
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
  ResourceRequirements,
} from '../../src/kube/types.ts';
import type { RuntimeContainerResources } from '../../src/provider/runtime-pod.ts';
import { sameAmount } from '../../src/kube/resources/quantity.ts';
import { containerResources } from '../../src/status/container-resources.ts';
import { type PodCgroupConfig, podResourceStatus } from '../../src/status/pod-resources.ts';
import { instanceOf, statusOf } from './support/statuses.ts';

const [running, ended] = [{ running: {} }, { terminated: { exitCode: 0 } }];
const all: ResourceRequirements = {
  limits: { cpu: '2', memory: '2Gi', 'example.com/gpu': '1' },
  requests: { cpu: '1', memory: '1Gi' },
};

const told = (
  allocated: ResourceRequirements | undefined,
  applied?: RuntimeContainerResources,
  { state = running, old }: { state?: ContainerState; old?: ContainerStatus } = {},
) =>
  containerResources(instanceOf('a', 'running', applied ? { resources: applied } : {}), state, old, {
    name: 'a',
    image: 'i',
    ...(allocated && { resources: allocated }),
  });

test.for<[says: string, allocated: ResourceRequirements | undefined, shown: object]>([
  ['nothing', undefined, { resources: {} }],
  ['empty lists', { limits: {}, requests: {} }, { resources: { limits: {}, requests: {} } }],
  ['limits', { limits: { cpu: '1' } }, { resources: { limits: { cpu: '1' } } }],
  ['all', all, { resources: all, allocatedResources: all.requests }],
])(
  'of what was promised a container shows %s, when it has stopped and while the runtime says nothing',
  ([, allocated, shown]) => {
    expect(told(allocated, undefined, { state: ended })).toEqual(shown);
    expect(told(allocated, { cpuLimit: 5000 }, { state: ended })).toEqual(shown);
    expect(told(allocated)).toEqual(shown);
  },
);

test('a running container shows what the runtime applied, in the lists that it was promised', () => {
  const applied = { cpuRequest: 1500, cpuLimit: 3000, memoryRequest: 2 ** 20, memoryLimit: 3 * 2 ** 30 };
  expect(told(all, applied)).toEqual({
    resources: {
      limits: { cpu: '3', memory: '3Gi', 'example.com/gpu': '1' },
      requests: { cpu: '1500m', memory: '1Mi' },
    },
    allocatedResources: all.requests,
  });
  expect(told({ requests: { cpu: '1' } }, applied).resources).toEqual({
    requests: { cpu: '1500m', memory: '1Mi' },
  });
  expect(told({ limits: { cpu: '1' } }, applied).resources).toEqual({ limits: { cpu: '3', memory: '3Gi' } });
  expect(told(undefined, applied).resources).toEqual({});
});

test.for<
  [list: 'limits' | 'requests', allocated: string | undefined, applied: number, shown: string | undefined]
>([
  ['limits', '5m', 10, '5m'],
  ['limits', '10m', 10, '10m'],
  ['limits', '10m', 9, '10m'],
  ['limits', '11m', 10, '10m'],
  ['limits', '5m', 11, '11m'],
  ['limits', undefined, 10, undefined],
  ['limits', undefined, 11, '11m'],
  ['requests', '1m', 2, '1m'],
  ['requests', '2m', 2, '2m'],
  ['requests', '2m', 1, '2m'],
  ['requests', '3m', 2, '2m'],
  ['requests', '1m', 3, '3m'],
  ['requests', undefined, 2, undefined],
])(
  'the CPU %s of %s, applied as %i, show %s: too little to have an effect is as promised',
  ([list, allocated, applied, shown]) => {
    const promised = { [list]: allocated === undefined ? {} : { cpu: allocated } };
    const { resources } = told(promised, { cpuLimit: applied, cpuRequest: applied });
    expect(resources[list]).toEqual(shown === undefined ? {} : { cpu: shown });
  },
);

test.for<[says: string, old: ContainerStatus | undefined, kept: boolean]>([
  ['the same run', { ...statusOf('a', running), containerID: 'fake://a' }, true],
  ['another run', { ...statusOf('a', running), containerID: 'fake://b' }, false],
  ['one that has ended', { ...statusOf('a', ended), containerID: 'fake://a' }, false],
  ['nothing yet', undefined, false],
])('where the runtime says nothing, what was shown before stands, if that was %s', ([, old, kept]) => {
  const before = { limits: { cpu: '3', memory: '3Gi' }, requests: { cpu: '4', memory: '4Gi' } };
  const given = old ? { old: { ...old, resources: before } } : {};
  const promised = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '2', memory: '2Gi' } };
  expect(told(promised, undefined, given).resources).toEqual(kept ? before : promised);
  expect(told(promised, {}, given).resources).toEqual(kept ? before : promised);
  if (old) expect(told(promised, {}, { old }).resources).toEqual(promised);
});

test.for([
  ['1', '1', true],
  ['1', '1000m', true],
  ['1Gi', '1024Mi', true],
  ['1', '2', false],
  ['much', 'much', true],
  ['much', 'more', false],
  ['1', 'more', false],
] as const)('%s and %s are the same amount: %s', ([a, b, same]) => {
  expect(sameAmount(a, b)).toBe(same);
});

const limits = { cpu: '500m', memory: '1Gi' };
const requests = { cpu: '250m', memory: '512Mi' };
const podOf = (phase: string | undefined, resources?: ResourceRequirements): Pod => ({
  spec: {
    ...(resources && { resources }),
    containers: [
      { name: 'a', image: 'i', resources: { limits, requests } },
      { name: 'b', image: 'i' },
    ],
  },
  ...(phase !== undefined && { status: { phase } }),
});
/** A pod that runs, whose containers ask for nothing. */
const runningOf = (resources: ResourceRequirements): Pod => ({
  spec: { resources, containers: [{ name: 'a', image: 'i' }] },
  status: { phase: 'Running' },
});
const shownOf = (pod: Pod, cgroup: PodCgroupConfig = {}, old: PodStatus = {}) =>
  podResourceStatus(pod, cgroup, old);

test('a pod that does not run shows what was allocated to all its containers', () => {
  const allocated = { resources: { limits, requests }, allocatedResources: requests };
  for (const phase of [undefined, 'Pending', 'Succeeded'])
    expect(shownOf(podOf(phase), { cpuShares: 1024, memory: 2 ** 30 })).toEqual(allocated);
  const twice = podOf('Pending');
  expect(shownOf(twice)).toEqual(shownOf(twice));
  expect(shownOf({})).toEqual({ resources: {} });
  expect(shownOf({ spec: { containers: [{ name: 'a', image: 'i', resources: { limits } }] } })).toEqual({
    resources: { limits },
  });
});

test('a running pod shows what is promised to it as a whole, and what its cgroup says', () => {
  expect(shownOf(podOf('Running'))).toEqual({
    resources: { requests: { memory: requests.memory } },
    allocatedResources: requests,
  });
  expect(shownOf({ status: { phase: 'Running' } })).toEqual({ resources: {} });
  expect(shownOf(podOf('Running', { limits, requests })).resources).toEqual({ limits, requests });
  const cgroup = { cpuShares: 512, cpuQuota: 150_000, cpuPeriod: 100_000, memory: 2 ** 31 };
  for (const pod of [
    podOf('Running'),
    podOf('Running', { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1' } }),
  ])
    expect(shownOf(pod, cgroup).resources).toEqual({
      limits: { cpu: '1500m', memory: '2Gi' },
      requests: { cpu: '500m', memory: requests.memory },
    });
  expect(shownOf(runningOf({ limits: { 'hugepages-2Mi': '4Mi' } })).resources).toEqual({});
});

test('a running pod that is promised no memory as a whole shows the sum of its containers’', () => {
  expect(shownOf(podOf('Running', { requests: { cpu: '1' } })).resources).toEqual({
    requests: { cpu: '1', memory: requests.memory },
  });
});

test.for<
  [says: string, cgroup: PodCgroupConfig, promised: ResourceRequirements, shown: ResourceRequirements]
>([
  ['shares, rounded up', { cpuShares: 3 }, {}, { requests: { cpu: '3m' } }],
  ['the least of shares', { cpuShares: 2 }, {}, {}],
  [
    'the least of shares, promised less',
    { cpuShares: 2 },
    { requests: { cpu: '1m' } },
    { requests: { cpu: '1m' } },
  ],
  [
    'the least of shares, promised as much',
    { cpuShares: 2 },
    { requests: { cpu: '2m' } },
    { requests: { cpu: '2m' } },
  ],
  [
    'the least of shares, promised more',
    { cpuShares: 2 },
    { requests: { cpu: '1' } },
    { requests: { cpu: '2m' } },
  ],
  [
    'less than the least of shares',
    { cpuShares: 1 },
    { requests: { cpu: '2m' } },
    { requests: { cpu: '2m' } },
  ],
  [
    'less than the least of quotas',
    { cpuQuota: 900, cpuPeriod: 100_000 },
    { limits: { cpu: '10m' } },
    { limits: { cpu: '10m' } },
  ],
  ['a quota, rounded down', { cpuQuota: 1999, cpuPeriod: 100_000 }, {}, { limits: { cpu: '19m' } }],
  ['the least of quotas', { cpuQuota: 1000, cpuPeriod: 100_000 }, {}, {}],
  [
    'the least of quotas, promised less',
    { cpuQuota: 1000, cpuPeriod: 100_000 },
    { limits: { cpu: '1m' } },
    { limits: { cpu: '1m' } },
  ],
  [
    'the least of quotas, promised as much',
    { cpuQuota: 1000, cpuPeriod: 100_000 },
    { limits: { cpu: '10m' } },
    { limits: { cpu: '10m' } },
  ],
  [
    'the least of quotas, promised more',
    { cpuQuota: 1000, cpuPeriod: 100_000 },
    { limits: { cpu: '1' } },
    { limits: { cpu: '10m' } },
  ],
  ['no quota', { cpuQuota: -1, cpuPeriod: 100_000 }, {}, {}],
  [
    'a quota of nothing',
    { cpuQuota: 0, cpuPeriod: 100_000 },
    { limits: { cpu: '1' } },
    { limits: { cpu: '1' } },
  ],
  ['a quota without a period', { cpuQuota: 100_000 }, {}, {}],
  ['a period without a quota', { cpuPeriod: 100_000 }, {}, {}],
  ['no limit of memory', { memory: -1 }, {}, {}],
  ['no memory at all', { memory: 0 }, { limits: { memory: '1Gi' } }, { limits: { memory: '1Gi' } }],
  ['a byte', { memory: 1 }, {}, { limits: { memory: '1' } }],
])('a cgroup with %s', ([, cgroup, promised, shown]) => {
  expect(shownOf(runningOf(promised), cgroup).resources).toEqual(shown);
});

test('where the cgroup says nothing, what was told of the running pod stands', () => {
  const before = { limits: { cpu: '3', memory: '3Gi' }, requests: { cpu: '4', memory: '4Gi' } };
  const promised = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '2', memory: '2Gi' } };
  const pod = podOf('Running', promised);
  expect(shownOf(pod, {}, { phase: 'Running', resources: before }).resources).toEqual(before);
  expect(shownOf(pod, {}, { phase: 'Pending', resources: before }).resources).toEqual(promised);
  expect(shownOf(pod, {}, { phase: 'Running' }).resources).toEqual(promised);
  expect(shownOf(podOf('Running'), {}, { phase: 'Running', resources: before }).resources).toEqual(before);
  const cgroup = { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, memory: 2 ** 30 };
  expect(shownOf(pod, cgroup, { phase: 'Running', resources: before }).resources).toEqual({
    limits: { cpu: '1', memory: '1Gi' },
    requests: { cpu: '1', memory: '4Gi' },
  });
});
