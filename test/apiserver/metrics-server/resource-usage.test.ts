import { expect, test } from 'vitest';
import {
  nextPair,
  type Reading,
  readResourceMetrics,
  useOf,
} from '../../../src/apiserver/metrics-server/resource-usage.ts';

const container = (labels: string, cpu: number, at: number): string =>
  `container_cpu_usage_seconds_total{${labels}} ${cpu} ${at}
container_memory_working_set_bytes{${labels}} 1.048576e+06 ${at}
container_start_time_seconds{${labels}} 1.5 ${at}
`;

test('a page of a kubelet is read; a pod of which a part is missing is left out', () => {
  const text = `# HELP node_cpu_usage_seconds_total x
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 12.5
node_memory_working_set_bytes 4096
node_swap_usage_bytes 0
${container('container="c",namespace="ns",pod="p"', 0.25, 2000)}${container('container="d",namespace="ns",pod="p"', 0, 2100)}${container('container="c",namespace="ns",pod="half"', 1, 2000)}container_cpu_usage_seconds_total{container="new",namespace="ns",pod="half"} 1 2000
container_cpu_usage_seconds_total{container="c",namespace="ns",pod="odd"} NaN 2000
container_memory_working_set_bytes{container="c",namespace="ns",pod="odd"} 1 2000
pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 0.25 2000
`;
  const { node, pods } = readResourceMetrics(text, 9000);
  expect(node).toEqual({ at: 9000, cpuNanos: 12_500_000_000, memoryBytes: 4096 });
  expect([...pods.keys()]).toEqual(['ns/p']);
  expect([...(pods.get('ns/p') ?? [])]).toEqual([
    ['c', { at: 2000, startedAt: 1500, cpuNanos: 250_000_000, memoryBytes: 1_048_576 }],
    ['d', { at: 2100, startedAt: 1500, cpuNanos: 0, memoryBytes: 1_048_576 }],
  ]);
  expect(readResourceMetrics('resource_scrape_error 1\n', 9000)).toEqual({
    node: undefined,
    pods: new Map(),
  });
});

const reading = (at: number, cpuNanos: number, startedAt?: number): Reading => ({
  at,
  cpuNanos,
  memoryBytes: 7,
  ...(startedAt !== undefined && { startedAt }),
});

test('a rate is reckoned from two readings', () => {
  const one = nextPair(undefined, reading(100_000, 1e9));
  expect(useOf(one)).toBeUndefined();
  const two = nextPair(one, reading(102_000, 1.5e9));
  expect(useOf(two)).toEqual({ at: 102_000, windowMs: 2000, cpuNanoCores: 250_000_000, memoryBytes: 7 });
  expect(nextPair(two, reading(102_000, 1.5e9)), 'the same reading again').toBe(two);
});

test('a reading soon after the last does not shorten the window', () => {
  const first = reading(100_000, 0);
  const pair = nextPair(nextPair({ last: first }, reading(115_000, 15)), reading(116_000, 16));
  expect(pair).toEqual({ first, last: reading(116_000, 16) });
  expect(nextPair(pair, reading(131_000, 31)).first).toEqual(reading(116_000, 16));
});

test.for([
  ['a restart that its start tells of', reading(105_000, 9e9, 100_001)],
  ['a restart that its processor time tells of', reading(115_000, 1e9)],
  ['a reading of long ago', reading(160_001, 9e9)],
] as const)('%s is not reckoned from', ([, last]) => {
  expect(nextPair({ first: reading(85_000, 1e9), last: reading(100_000, 5e9) }, last)).toEqual({
    last,
  });
});

test.for([
  [9999, undefined],
  [10_000, 500_000_000],
  [14_999, 333_355_557],
  [15_000, undefined],
] as const)('a container that is %i ms old tells of itself from its start: %s', ([age, cores]) => {
  const pair = nextPair(undefined, reading(50_000 + age, 5e9, 50_000));
  expect(useOf(pair)?.cpuNanoCores).toBe(cores);
});
