import { expect, test } from 'vitest';
import { admitByPredicates, generalFilter, messageOfFailure } from '../../src/admission/predicates.ts';
import { matchesNodeAffinity } from '../../src/kube/node-affinity.ts';
import type { Node, Pod } from '../../src/kube/types.ts';

type Fields = Readonly<Record<string, unknown>>;

const podOf = (spec: Fields, container: Fields = {}): Pod => ({
  metadata: { name: 'p', uid: 'p' },
  spec: { containers: [{ name: 'c', ...container }], ...spec },
});

const nodeOf = (labels: Record<string, string> = {}): Node => ({
  metadata: { name: 'n1', labels },
  status: { allocatable: { cpu: '4', memory: '4Gi', pods: '10' } },
});

const reasons = (pod: Pod, others: readonly Pod[] = []): string[] =>
  generalFilter(pod, nodeOf(), others).map(messageOfFailure);

const affinity = (...terms: Fields[]): Pod =>
  podOf({
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
    },
  });
const expression = (key: string, operator: string, ...values: string[]): Fields => ({
  matchExpressions: [{ key, operator, values }],
});
const field = (operator: string, ...values: string[]): Fields => ({
  matchFields: [{ key: 'metadata.name', operator, values }],
});

test.for<[string, Fields, boolean]>([
  ['a name', field('In', 'n1'), true],
  ['one of two names, which is not allowed', field('In', 'n1', 'n2'), false],
  ['not one of two names, which is not allowed', field('NotIn', 'n2', 'n3'), false],
  ['a name that exists, which is not asked for', field('Exists'), false],
  ['a label', expression('zone', 'In', 'a', 'b'), true],
  ['a label that exists', expression('zone', 'Exists'), true],
  ['a label that exists, with a value', expression('zone', 'Exists', 'a'), false],
  ['no such label', expression('rack', 'DoesNotExist'), true],
  ['a key that no label can have', expression('no key', 'DoesNotExist'), false],
  ['a value that no label can have', expression('zone', 'NotIn', 'no value'), false],
  ['not one of no values', expression('zone', 'NotIn'), false],
  ['more', expression('n', 'Gt', '4'), true],
  ['more than two numbers', expression('n', 'Gt', '4', '3'), false],
  ['more than what is no number', expression('n', 'Gt', 'four'), false],
  ['less than a number of more than 64 bits', expression('n', 'Lt', '9223372036854775808'), false],
  ['nothing', {}, false],
])('a node is asked for %s', ([, term, matches]) => {
  const node = nodeOf({ zone: 'a', n: '5' });
  expect(matchesNodeAffinity(affinity(term), node)).toBe(matches);
  expect(matchesNodeAffinity(affinity(term, field('In', 'n1')), node)).toBe(true);
});

test('what containers request of a domain that the node does not know is not asked for; what the sandbox takes is (R134)', () => {
  const gpu = { 'example.com/gpu': '1' };
  expect(reasons(podOf({}, { resources: { requests: gpu } }))).toEqual([]);
  expect(reasons(podOf({ initContainers: [{ name: 'i', resources: { requests: gpu } }] }))).toEqual([]);
  expect(reasons(podOf({ overhead: gpu }))).toEqual([
    "Node didn't have enough resource: example.com/gpu, requested: 1, used: 0, capacity: 0",
  ]);
  expect(reasons(podOf({}, { resources: { requests: { 'kubernetes.io/x': '1' } } }))).toEqual([
    "Node didn't have enough resource: kubernetes.io/x, requested: 1, used: 0, capacity: 0",
  ]);
  // the name of a quota, not of a resource
  expect(reasons(podOf({}, { resources: { requests: { 'requests.example.com/gpu': '1' } } }))).toEqual([]);
});

test('a port without a protocol is one of TCP', () => {
  const other = podOf({}, { ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP', hostIP: '' }] });
  const pod = podOf({}, { ports: [{ containerPort: 80, hostPort: 80, protocol: '', hostIP: '10.0.0.1' }] });
  expect(reasons(pod, [other])).toEqual([
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ]);
});

test('a node with labels has that of its operating system, whatever it says', () => {
  const pod = podOf({ nodeSelector: { 'kubernetes.io/os': 'linux' } });
  const admit = (labels: Record<string, string>): boolean =>
    admitByPredicates({ pod, node: nodeOf(labels), otherPods: [], os: 'linux' }).result.admit;
  expect(admit({ 'kubernetes.io/os': 'plan9' })).toBe(true);
  expect(admit({ zone: 'a' })).toBe(true);
  expect(admit({})).toBe(false);
});
