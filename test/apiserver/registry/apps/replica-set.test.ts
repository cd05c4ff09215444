import { expect, test } from 'vitest';
import { replicaSetStrategy } from '../../../../src/apiserver/registry/apps/replica-set.ts';
import { body, defaulted, OneKind, selector, template, withSpec, withStatus } from '../one-kind.ts';

const minimal = { spec: { selector, template: template() } };

test('a replica set has one replica by default', () => {
  const { object } = new OneKind(replicaSetStrategy).create(minimal);
  expect(body(object)).toEqual({
    metadata: { generation: 1 },
    spec: { replicas: 1, selector, template: defaulted() },
    status: { replicas: 0 },
  });
});

test('a replica set is rejected in the order of its fields', () => {
  const { faults } = new OneKind(replicaSetStrategy).create({
    spec: {
      replicas: -1,
      minReadySeconds: -2,
      selector: {},
      template: template({ restartPolicy: 'OnFailure' }),
    },
  });
  expect(faults).toEqual([
    'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    'spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0',
    'spec.selector: Invalid value: {}: empty selector is invalid for deployment',
    'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
  ]);
});

test('the selector does not change; the counts of the status agree', () => {
  const sets = new OneKind(replicaSetStrategy);
  sets.create(minimal);
  expect(sets.update(withSpec({ selector: { matchLabels: { b: 'c', a: 'b', app: 'web' } } })).faults).toEqual(
    [
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: {"matchLabels":{"a":"b","app":"web","b":"c"}}: field is immutable',
    ],
  );
  expect(sets.update(withStatus({ replicas: 1, fullyLabeledReplicas: 2 }), 'status').faults).toEqual([
    'status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ]);
});
