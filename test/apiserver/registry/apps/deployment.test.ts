import { expect, test } from 'vitest';
import { deploymentStrategy } from '../../../../src/apiserver/registry/apps/deployment.ts';
import { body, cellsOf, defaulted, OneKind, selector, template, withSpec, withStatus } from '../one-kind.ts';

const minimal = { spec: { selector, template: template() } };
const noMatch = '`selector` does not match template `labels`';

test('a deployment gets the defaults of its strategy and of its pods', () => {
  const { object } = new OneKind(deploymentStrategy).create(minimal);
  expect(body(object)).toEqual({
    metadata: { generation: 1 },
    spec: {
      replicas: 1,
      selector,
      template: defaulted(),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    },
    status: {},
  });
});

test.for([
  [
    'no selector',
    { selector: undefined },
    [
      'spec.selector: Required value',
      `spec.template.metadata.labels: Invalid value: {"app":"web"}: ${noMatch}`,
    ],
  ],
  [
    'an empty selector',
    { selector: {} },
    ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
  ],
  [
    'another selector',
    { selector: { matchLabels: { app: 'db' } } },
    [`spec.template.metadata.labels: Invalid value: {"app":"web"}: ${noMatch}`],
  ],
  [
    'a selector that cannot be evaluated',
    { selector: { matchExpressions: [{ key: 'app', operator: 'Is' }] } },
    [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Is"}]}: invalid label selector',
    ],
  ],
  [
    'fewer than no replicas',
    { replicas: -1 },
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'an unknown strategy',
    { strategy: { type: 'Slow' } },
    [
      'spec.strategy: Unsupported value: {"Type":"Slow","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
  [
    'a rolling update that cannot proceed',
    { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: '0%' } } },
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
  ],
  [
    'more than all pods unavailable',
    { strategy: { rollingUpdate: { maxUnavailable: '101%' } } },
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  ],
  [
    'a rolling update of a recreation',
    { strategy: { type: 'Recreate', rollingUpdate: {} } },
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    'a deadline before pods are ready',
    { minReadySeconds: 600 },
    ['spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds'],
  ],
  [
    'pods that end',
    { template: template({ restartPolicy: 'Never', activeDeadlineSeconds: 1 }) },
    [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
  ],
  [
    'invalid pods',
    { template: template({ containers: [] }) },
    ['spec.template.spec.containers: Required value'],
  ],
] as const)('a deployment is rejected: %s', ([, spec, faults]) => {
  const { faults: found } = new OneKind(deploymentStrategy).create({ spec: { ...minimal.spec, ...spec } });
  expect(found).toEqual(faults);
});

test('the selector of a deployment does not change; changes of spec and annotations count', () => {
  const deployments = new OneKind(deploymentStrategy);
  deployments.create(minimal);
  const next = { selector: { matchLabels: { app: 'db' } }, template: template({}, { app: 'db' }) };
  expect(deployments.update(withSpec(next)).faults).toEqual([
    'spec.selector: Invalid value: {"matchLabels":{"app":"db"}}: field is immutable',
  ]);
  const generation = (members: object): unknown =>
    (
      deployments.update((one) => ({ ...one, metadata: { ...(one['metadata'] as object), ...members } }))
        .object['metadata'] as { readonly generation: number }
    ).generation;
  expect([generation({ labels: { a: 'b' } }), generation({ annotations: { a: 'b' } })]).toEqual([1, 2]);
  const { object } = deployments.update(withSpec({ replicas: 3 }));
  expect(object['metadata']).toMatchObject({ generation: 3 });
});

test('a status update changes neither spec nor labels, and its counts agree', () => {
  const deployments = new OneKind(deploymentStrategy);
  deployments.create(minimal);
  const { object } = deployments.update(
    (one) => ({
      ...one,
      metadata: { ...(one['metadata'] as object), labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: {},
      status: { replicas: 1, readyReplicas: 1, availableReplicas: 1, collisionCount: 2 },
    }),
    'status',
  );
  expect(body(object)).toMatchObject({
    metadata: { annotations: { c: 'd' }, generation: 1 },
    spec: { replicas: 1 },
    status: { replicas: 1 },
  });
  expect(object).not.toHaveProperty('metadata.labels');
  const wrong = { replicas: 1, readyReplicas: 2, availableReplicas: 3, collisionCount: 1 };
  expect(deployments.update(withStatus(wrong), 'status').faults).toEqual([
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  ]);
});

test('a deployment is warned of its name and of its pods', () => {
  const { warnings } = new OneKind(deploymentStrategy).create({
    metadata: { name: 'a.b' },
    spec: { selector, template: template({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }) },
  });
  expect(warnings).toEqual([
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
});

test('the columns of a deployment', () => {
  const { object } = new OneKind(deploymentStrategy).create(minimal);
  expect(cellsOf('apps/deployments', object)).toEqual(['one', '0/1', 0, 0, '0s', 'c', 'web:1', 'app=web']);
});
