import { expect, test } from 'vitest';
import { formatProblem, validateManifests } from '../../../src/kube/validation/validate-files.ts';

const said = (text: string): string[] =>
  validateManifests([{ name: 'a.yaml', text }]).problems.map(formatProblem);

const pod = (spec: string): string => `apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n${spec}`;
const good = pod('  containers:\n  - name: c\n    image: x\n');

test('a valid pod has no problems, and is counted', () => {
  expect(validateManifests([{ name: 'a.yaml', text: good }])).toEqual({ problems: [], pods: 1, others: [] });
});

test('each fault names file, line and column', () => {
  expect(said(pod('  containers:\n  - name: C\n    image: x\n  restartPolicy: Maybe\n'))).toEqual([
    expect.stringMatching(
      /^a\.yaml:7:11: spec\.containers\[0\]\.name: Invalid value: "C": a lowercase RFC 1123 label/,
    ),
    'a.yaml:9:18: spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
  ]);
});

test('several documents keep the line numbers of their file', () => {
  const text = `${good}---\n# nothing\n---\n${pod('  containers: []\n')}`;
  expect(said(text)).toEqual(['a.yaml:17:15: spec.containers: Required value']);
});

test('problems name the file they are in', () => {
  const report = validateManifests([
    { name: 'one', text: good },
    { name: 'two', text: pod('  containers: {}\n') },
    { name: 'three', text: '' },
  ]);
  expect(report.pods).toBe(2);
  expect(report.problems.map(formatProblem)).toEqual([
    'two:6:15: spec.containers: Invalid value: {}: json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    'three:1:1: the file holds no manifest',
  ]);
});

test('unknown and doubled fields are named', () => {
  expect(said(pod('  containers:\n  - name: c\n    image: x\n    imge: y\n    image: z\n'))).toEqual([
    expect.stringMatching(/^a\.yaml:10:5: duplicate field/),
    'a.yaml:9:11: unknown field "spec.containers[0].imge"',
  ]);
});

test('a list is checked pod by pod', () => {
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'PodList',
    items: [{ metadata: { name: 'A' }, spec: {} }],
  });
  expect(said(text)).toEqual([
    expect.stringContaining('items[0].metadata.name: Invalid value: "A"'),
    expect.stringContaining('items[0].spec.containers: Required value'),
  ]);
});

test('what is no pod is handed back untouched', () => {
  const { others, problems } = validateManifests([{ name: 'a', text: 'apiVersion: v1\nkind: Service\n' }]);
  expect(problems).toEqual([]);
  expect(others).toMatchObject([{ apiVersion: 'v1', kind: 'Service', line: 2, column: 7 }]);
});

test('broken YAML says where it breaks', () => {
  expect(said('apiVersion: v1\nkind: Pod\nspec: {\n')).toEqual([
    expect.stringMatching(/^a\.yaml:\d+:\d+: yaml: /),
  ]);
});

test('all layers are reported at once: unknown fields, types and rules, each with path and value', () => {
  const text = `apiVersion: v1
kind: Pod
metadata: {name: Bad_Name, colour: red}
spec:
  restartPolicy: Sometimes
  containers:
  - name: a
    image: nginx
    ports: [{containerPort: many}, {containerPort: 70000}]
    securityContext: {runAsUser: x}
`;
  const lines = validateManifests([{ name: 'f', text }]).problems.map(formatProblem);
  for (const part of [
    'f:3:36: unknown field "metadata.colour"',
    'f:9:29: spec.containers[0].ports[0].containerPort: Invalid value: "many": json: cannot unmarshal string',
    'f:10:34: spec.containers[0].securityContext.runAsUser: Invalid value: "x": json: cannot unmarshal string',
    'metadata.name: Invalid value: "Bad_Name"',
    'spec.restartPolicy: Unsupported value: "Sometimes"',
    'spec.containers[0].ports[1].containerPort: Invalid value: 70000',
  ])
    expect(lines.some((line) => line.includes(part))).toBe(true);
  expect(lines.some((line) => line.includes('ports[0].containerPort: Required'))).toBe(false);
});

test('what stands against a pod besides the rules is reported too; others are those without a fault', () => {
  const pod = (name: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: a, image: b}]}\n`;
  const seen: number[] = [];
  const report = validateManifests([{ name: 'f', text: `${pod('a')}---\n${pod('B')}---\n${pod('c')}` }], {
    refusals: ({ metadata }, others) => {
      seen.push(others.length);
      return metadata?.name === 'c' ? ['not here'] : [];
    },
  });
  expect(seen).toEqual([0, 1, 1]);
  expect(report.problems.map(formatProblem).at(-1)).toMatch(/^f:\d+:1: not here$/);
});
