import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import { MetricObjects } from '../../src/simulate/metric-objects.ts';
import { objectsOf } from '../../src/simulate/stages/objects.ts';

const nodes = ['n-0', 'n-1'].map((name) => ({
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  status: { allocatable: { cpu: '8' } },
}));
const pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u', labels: { size: '3' } },
  spec: { nodeName: 'n-0', containers: [{ name: 'app' }, { name: 'side' }] },
};

const text = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Metric
metadata: {name: nodes}
spec:
  path: /metrics/nodes/{nodeName}/custom
  metrics:
    - {name: cores, help: Cores of the node., kind: gauge, value: 'node.status.allocatable["cpu"]'}
    - {name: started_total, kind: counter, value: node.StartedContainersTotal()}
    - name: size
      kind: gauge
      dimension: pod
      labels: [{name: pod, value: pod.metadata.name}]
      value: int(pod.metadata.labels["size"]) * 2
    - name: use
      kind: gauge
      dimension: container
      labels: [{name: container, value: container.name}, {name: namespace, value: pod.metadata.namespace}]
      value: pod.Usage("cpu", container.name)
    - {name: faulty, kind: gauge, value: node.status.none}
    - name: latency
      kind: histogram
      buckets: [{le: 2, value: '3'}, {le: 1, value: '2', hidden: true}, {le: 4, value: 'Now() == Now() ? 1 : 0'}]
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Metric
metadata: {name: n-1}
spec: {path: /metrics/one, metrics: [{name: one, kind: gauge, value: '1'}]}
`;

const warnings: string[] = [];
const logger = {
  ...silentLogger,
  warn: (_text: string, fields: object) => void warnings.push(JSON.stringify(fields)),
};
const objects = objectsOf(text, 'test');
const metrics = new MetricObjects({
  ...{ now: () => 0, random: () => 0, usage: () => 0.5, startedContainers: () => 7 },
  ...{ objects: () => objects, nodeNames: ['n-0', 'n-1'], logger: logger as Logger },
  nodes: {
    node: (name) => nodes.find(({ metadata }) => metadata.name === name),
    podsOf: (name) => (name === 'n-0' ? [pod] : []),
  },
});

test('a page has the metrics of its node, by node, pod and container', () => {
  expect(metrics.page('/metrics/nodes/n-0/custom')).toBe(`# HELP cores Cores of the node.
# TYPE cores gauge
cores 8
# HELP latency 
# TYPE latency histogram
latency_bucket{le="2"} 5
latency_bucket{le="4"} 6
latency_bucket{le="+Inf"} 6
latency_sum 12
latency_count 6
# HELP size 
# TYPE size gauge
size{pod="web"} 6
# HELP started_total 
# TYPE started_total counter
started_total 7
# HELP use 
# TYPE use gauge
use{container="app",namespace="shop"} 0.5
use{container="side",namespace="shop"} 0.5
`);
  expect(warnings).toEqual([expect.stringContaining('no such key: none')]);
});

test('other paths are not served; a path without a node is that of the node with the name of the object', () => {
  expect(metrics.page('/metrics/nodes/n-9/custom')).toBeUndefined();
  expect(metrics.page('/metrics/nodes/n-0/other')).toBeUndefined();
  expect(metrics.page('/metrics/nodes/a/b/custom')).toBeUndefined();
  expect(metrics.page('/metrics/one')).toContain('one 1');
});

test('Prometheus discovers each page', () => {
  const targets = metrics.targets('127.0.0.1:9');
  expect(targets.map(({ labels }) => labels['__metrics_path__'])).toEqual([
    '/metrics/nodes/n-0/custom',
    '/metrics/nodes/n-1/custom',
    '/metrics/one',
  ]);
  expect(targets[0]).toEqual({
    targets: ['127.0.0.1:9'],
    labels: { metrics_name: 'nodes', __scheme__: 'http', __metrics_path__: '/metrics/nodes/n-0/custom' },
  });
});

test.each([
  ['{path: /other, metrics: []}', 'spec.path: must start with /metrics'],
  ['{path: /metrics/a, metrics: [{name: a, kind: gauge}]}', 'spec.metrics[0].value: is required'],
  [
    '{path: /metrics/a, metrics: [{name: a, kind: sum, value: "1"}]}',
    'kind: must be one of counter, gauge, histogram',
  ],
  ['{path: /metrics/a, metrics: [{name: a, kind: gauge, value: nope}]}', 'value: expression "nope"'],
])('%s is rejected: %s', (spec, problem) => {
  const [object = {}] = objectsOf(
    `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Metric\nmetadata: {name: m}\nspec: ${spec}\n`,
    'test',
  );
  expect(() => {
    metrics.check([object]);
  }).toThrow(problem);
});
