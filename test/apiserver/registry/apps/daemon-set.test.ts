import { expect, test } from 'vitest';
import { daemonSetStrategy } from '../../../../src/apiserver/registry/apps/daemon-set.ts';
import { body, defaulted, OneKind, selector, template, withSpec, withStatus } from '../one-kind.ts';

const minimal = { spec: { selector, template: template() } };
const generation = 'deprecated.daemonset.template.generation';

test('a daemon set gets its defaults, and counts its templates in an annotation', () => {
  const sets = new OneKind(daemonSetStrategy);
  const { object } = sets.create(minimal);
  expect(body(object)).toEqual({
    metadata: { generation: 1, annotations: { [generation]: '1' } },
    spec: {
      selector,
      template: defaulted(),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
    },
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  });
  const changes = [withSpec({ minReadySeconds: 1 }), withSpec({ template: template({ hostNetwork: true }) })];
  expect(changes.map((change) => body(sets.update(change).object)['metadata'])).toEqual([
    { generation: 2, annotations: { [generation]: '1' } },
    { generation: 3, annotations: { [generation]: '2' } },
  ]);
});

const rolling = (rollingUpdate: object): object => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate },
});

test.for([
  [
    'no selector',
    { selector: undefined },
    [
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
  ],
  [
    'an empty selector',
    { selector: {} },
    ['spec.selector: Invalid value: {}: empty selector is invalid for daemonset'],
  ],
  [
    'surge and absence at once',
    rolling({ maxSurge: 1 }),
    [
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero',
    ],
  ],
  [
    'neither surge nor absence',
    rolling({ maxUnavailable: 0 }),
    ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
  ],
  [
    'a share that is none',
    rolling({ maxUnavailable: 'x' }),
    [
      "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
  ],
  [
    'an unknown strategy',
    { updateStrategy: { type: 'Slow' } },
    [
      'spec.updateStrategy: Unsupported value: {"Type":"Slow","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
    ],
  ],
  [
    'pods that end',
    { template: template({ activeDeadlineSeconds: 5 }) },
    [
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported',
    ],
  ],
] as const)('a daemon set is rejected: %s', ([, spec, faults]) => {
  expect(new OneKind(daemonSetStrategy).create({ spec: { ...minimal.spec, ...spec } }).faults).toEqual(
    faults,
  );
});

test('the selector does not change; counts are not negative', () => {
  const sets = new OneKind(daemonSetStrategy);
  sets.create(minimal);
  const next = { selector: { matchLabels: { app: 'db' } }, template: template({}, { app: 'db' }) };
  expect(sets.update(withSpec(next)).faults).toEqual([
    'spec.selector: Invalid value: {"matchLabels":{"app":"db"}}: field is immutable',
  ]);
  expect(sets.update(withStatus({ numberReady: -1 }), 'status').faults).toEqual([
    'status.numberReady: Invalid value: -1: must be greater than or equal to 0',
  ]);
});
