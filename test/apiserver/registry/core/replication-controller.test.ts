import { expect, test } from 'vitest';
import { replicationControllerStrategy } from '../../../../src/apiserver/registry/core/replication-controller.ts';
import { body, cellsOf, defaulted, OneKind, template, withSpec } from '../one-kind.ts';

test('a replication controller takes selector and labels from its template', () => {
  const { object } = new OneKind(replicationControllerStrategy).create({ spec: { template: template() } });
  expect(body(object)).toEqual({
    metadata: { generation: 1, labels: { app: 'web' } },
    spec: { replicas: 1, selector: { app: 'web' }, template: defaulted() },
    status: { replicas: 0 },
  });
  expect(cellsOf('replicationcontrollers', object)).toEqual(['one', 1, 0, 0, '0s', 'c', 'web:1', 'app=web']);
});

test('a replication controller needs a template, and may change its selector with it', () => {
  const controllers = new OneKind(replicationControllerStrategy);
  expect(controllers.create({ spec: { replicas: -1, minReadySeconds: -1 } }).faults).toEqual([
    'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    'spec.selector: Required value',
    'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    'spec.template: Required value',
  ]);
  controllers.create({ spec: { template: template() } });
  const { faults } = controllers.update(withSpec({ selector: { app: 'db' } }));
  expect(faults).toEqual([
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ]);
  const next = { selector: { app: 'db' }, template: template({}, { app: 'db' }) };
  expect(controllers.update(withSpec(next)).faults).toEqual([]);
});
