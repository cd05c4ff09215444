import { expect, test } from 'vitest';
import { containerOf, Expressions, type UsedBy } from '../../../src/simulate/expressions/expressions.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const uses: [string, UsedBy][] = [];
const expressions = new Expressions(
  {
    now: () => now,
    random: () => 0.25,
    usage: (resource, by) => (uses.push([resource, by]), 3),
    startedContainers: (node) => (node === 'n' ? 2 : 0),
  },
  ['node', 'pod', 'container'],
);
const pod = {
  metadata: { name: 'web', annotations: { cpu: '10m' }, creationTimestamp: '2026-01-01T23:59:00Z' },
  spec: { containers: [{ name: 'app', resources: { requests: { cpu: '10m', memory: '1Gi' } } }] },
};
const node = {
  metadata: { name: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
  status: { allocatable: { cpu: '90m' } },
};
const numberOf = (text: string): number | undefined => expressions.compile(text).number({ node, pod });

test.each([
  ['Quantity("1Gi")', 2 ** 30],
  [
    '( Quantity("10m") + Quantity(pod.metadata.annotations["cpu"]) + node.status.allocatable["cpu"] + pod.spec.containers[0].resources.requests["cpu"] ) * 1.5 * 10',
    1.8,
  ],
  ['Quantity("3") / 2', 1.5],
  ['-Quantity("3") - Quantity("1")', -4],
  ['Quantity("1500m") > Quantity("1") ? 1 : 0', 1],
  ['pod.spec.containers[0].resources.requests["memory"] >= Quantity("1G") ? 1 : 0', 1],
  ['"none" in pod.metadata.annotations ? 1 : 2', 2],
  ['"none" in node.metadata.annotations ? 1 : 2', 2],
  [
    '(Now().UnixSecond() - node.metadata.creationTimestamp.UnixSecond()) * node.StartedContainersTotal() / 10.0',
    17_280,
  ],
  ['pod.SinceSecond() + SinceSecond(pod)', 120],
  ['Rand()', 0.25],
  ['duration("2s")', 2e9],
  ['true', 1],
  ['"text"', undefined],
  ['pod.spec.nodeName', undefined],
])('%s is %j', (text, result) => {
  const value = numberOf(text);
  if (result === undefined) expect(value).toBeUndefined();
  else expect(value).toBeCloseTo(result, 9);
});

test('usage is asked for a container, a pod and a node', () => {
  expect(numberOf('pod.Usage("cpu", "app") + pod.Usage("memory") + node.Usage("cpu")')).toBe(9);
  expect(uses).toEqual([
    ['cpu', { object: pod, container: 'app' }],
    ['memory', { object: pod }],
    ['cpu', { object: node }],
  ]);
  expect(numberOf('pod.CumulativeUsage("cpu")')).toBe(0);
});

test('the container is a variable of its own', () => {
  const container = containerOf(pod, 'app');
  expect(expressions.compile('container.name').text({ container })).toBe('app');
  expect(containerOf(pod, 'none')).toBeUndefined();
});

test('a faulty expression says what is wrong', () => {
  expect(() => expressions.compile('pod.metadata.')).toThrow('expression "pod.metadata."');
  expect(() => expressions.compile('nope')).toThrow("undeclared reference to 'nope'");
  expect(() => {
    expressions.compile('pod.spec.nodeName').check({ pod });
  }).toThrow('no such key: nodeName');
});

test('durations and conditions', () => {
  expect(expressions.compile('"1500ms"').durationMs({})).toBe(1500);
  expect(expressions.compile('duration("2s")').durationMs({})).toBe(2000);
  expect(expressions.compile('"soon"').durationMs({})).toBeUndefined();
  expect(expressions.compile('pod.metadata.name == "web"').boolean({ pod })).toBe(true);
  expect(expressions.compile('has(pod.spec.nodeName)').boolean({ pod })).toBe(false);
});
