import { expect, test } from 'vitest';
import { statefulSetStrategy } from '../../../../src/apiserver/registry/apps/stateful-set.ts';
import { body, cellsOf, defaulted, OneKind, selector, template, withSpec, withStatus } from '../one-kind.ts';

const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const mounting = template({
  containers: [{ name: 'c', image: 'web:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
});
const minimal = { spec: { serviceName: 'web', selector, template: template() } };

test('a stateful set gets the defaults of its policies and claims', () => {
  const { object, faults } = new OneKind(statefulSetStrategy).create({
    spec: { ...minimal.spec, volumeClaimTemplates: [claim] },
  });
  expect(faults).toEqual([]);
  expect(body(object)).toEqual({
    metadata: { generation: 1 },
    spec: {
      replicas: 1,
      serviceName: 'web',
      selector,
      template: defaulted(),
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      volumeClaimTemplates: [
        {
          ...claim,
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          spec: { ...claim.spec, volumeMode: 'Filesystem' },
          status: { phase: 'Pending' },
        },
      ],
    },
    status: { availableReplicas: 0, replicas: 0 },
  });
});

test('the claims are volumes of the pods, whose host names are not checked', () => {
  const sets = new OneKind(statefulSetStrategy);
  const spec = { ...minimal.spec, template: mounting };
  expect(sets.create({ spec: { ...spec, volumeClaimTemplates: [claim] } }).faults).toEqual([]);
  expect(new OneKind(statefulSetStrategy).create({ spec }).faults).toEqual([
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ]);
});

test.for([
  [
    'an order',
    { podManagementPolicy: 'Any' },
    ["spec.podManagementPolicy: Invalid value: \"Any\": must be 'OrderedReady' or 'Parallel'"],
  ],
  [
    'an update',
    { updateStrategy: { type: 'Slow' } },
    [
      'spec.updateStrategy: Invalid value: {"Type":"Slow","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
    ],
  ],
  [
    'a partition of a manual update',
    { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
    [
      'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
    ],
  ],
  [
    'a retention',
    { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Keep' } },
    [
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
    ],
  ],
  [
    'a claim',
    { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] },
    [
      'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
    ],
  ],
  [
    'an ordinal',
    { ordinals: { start: -1 } },
    ['spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'a template without the labels',
    { template: template({}, { app: 'db' }) },
    [
      'spec.template.metadata.labels: Invalid value: {"app":"db"}: `selector` does not match template `labels`',
    ],
  ],
] as const)('a stateful set is rejected for %s', ([, spec, faults]) => {
  expect(new OneKind(statefulSetStrategy).create({ spec: { ...minimal.spec, ...spec } }).faults).toEqual(
    faults,
  );
});

test('the name is a label; service, claims and selector do not change', () => {
  const sets = new OneKind(statefulSetStrategy);
  expect(sets.create({ ...minimal, metadata: { name: 'a.b' } }).faults).toEqual([
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ]);
  sets.create(minimal);
  expect(sets.update(withSpec({ serviceName: 'other' })).faults).toEqual([
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  ]);
  expect(sets.update(withSpec({ replicas: 2, minReadySeconds: 1 })).faults).toEqual([]);
  expect(sets.update(withStatus({ replicas: 1, currentReplicas: 2 }), 'status').faults).toEqual([
    'status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ]);
});

test('a gate that is off drops maxUnavailable; the columns show ready of wanted', () => {
  const { object, warnings } = new OneKind(statefulSetStrategy).create({
    spec: {
      ...minimal.spec,
      revisionHistoryLimit: -1,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
    },
  });
  expect(object).toHaveProperty('spec.updateStrategy.rollingUpdate', { partition: 0 });
  expect(warnings).toEqual([
    'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
  ]);
  expect(cellsOf('apps/statefulsets', object)).toEqual(['one', '0/1', '0s', 'c', 'web:1']);
});
