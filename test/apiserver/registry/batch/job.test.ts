import { expect, test } from 'vitest';
import { jobStrategy } from '../../../../src/apiserver/registry/batch/job.ts';
import type { JsonObject } from '../../../../src/apimachinery/json.ts';
import { body, cellsOf, defaulted, OneKind, template, withSpec, withStatus } from '../one-kind.ts';

const uid = '00000000-0000-4000-8000-000000000001';
const never = { restartPolicy: 'Never' };
const minimal = { spec: { template: template(never) } };
const generated = {
  'batch.kubernetes.io/controller-uid': uid,
  'batch.kubernetes.io/job-name': 'one',
  'controller-uid': uid,
  'job-name': 'one',
};

test('a job selects its pods by its UID and gets its defaults', () => {
  const { object } = new OneKind(jobStrategy).create(minimal);
  expect(body(object)).toEqual({
    // the labels are those of the template, with the generated ones
    metadata: { generation: 1, labels: { app: 'web', ...generated } },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      manualSelector: false,
      template: defaulted(never, { app: 'web', ...generated }),
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
    },
    status: {},
  });
  expect(cellsOf('batch/jobs', object).slice(0, 5)).toEqual(['one', 'Running', '0/1', '', '0s']);
});

test('a job without labels has those that its template gets', () => {
  const { object } = new OneKind(jobStrategy).create({
    spec: { template: { spec: template(never)['spec'] } },
  });
  expect(object['metadata']).toMatchObject({ labels: generated });
});

test('defaults depend on what is given', () => {
  const policy = { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] };
  const { object } = new OneKind(jobStrategy).create({
    spec: {
      ...minimal.spec,
      parallelism: 2,
      completions: 3,
      completionMode: 'Indexed',
      backoffLimitPerIndex: 1,
      podFailurePolicy: policy,
    },
  });
  expect(object['spec']).toMatchObject({
    backoffLimit: 2_147_483_647,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: { rules: [{ onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }] },
  });
  const queue = new OneKind(jobStrategy).create({ spec: { ...minimal.spec, parallelism: 2 } }).object;
  expect(queue).not.toHaveProperty('spec.completions');
});

const policy = (rule: object): object => ({ podFailurePolicy: { rules: [rule] } });
const indexed = { completionMode: 'Indexed', completions: 5 };
const rule = 'spec.podFailurePolicy.rules[0]';

test.for([
  [
    'pods that restart',
    { template: template() },
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
  [
    'a mode',
    { completionMode: 'Any' },
    ['spec.completionMode: Unsupported value: "Any": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    'limits by index without indexes',
    { maxFailedIndexes: 1 },
    [
      'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
      'spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode',
    ],
  ],
  [
    'indexes without a number',
    { completionMode: 'Indexed', parallelism: 1 },
    ['spec.completions: Required value: when completion mode is Indexed'],
  ],
  [
    'a manager without a domain',
    { managedBy: 'me' },
    ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'an action',
    policy({ action: 'Retry', onExitCodes: { operator: 'In', values: [1] } }),
    [
      `${rule}.action: Unsupported value: "Retry": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
    ],
  ],
  [
    'exit codes out of order',
    policy({ action: 'FailJob', onExitCodes: { containerName: 'd', operator: 'In', values: [2, 0, 2] } }),
    [
      `${rule}.onExitCodes.containerName: Invalid value: "d": must be one of the container or initContainer names in the pod template`,
      `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
      `${rule}.onExitCodes.values[2]: Duplicate value: 2`,
      `${rule}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered`,
    ],
  ],
  [
    'a rule without a condition',
    policy({ action: 'FailIndex' }),
    [
      `${rule}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
      `${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
    ],
  ],
  [
    'a success policy without indexes',
    { successPolicy: { rules: [{ succeededCount: 1 }] } },
    [
      'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
    ],
  ],
  [
    'successes that cannot be',
    { ...indexed, successPolicy: { rules: [{ succeededIndexes: '0-2,2' }, { succeededCount: 6 }, {}] } },
    [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-2,2": error parsing succeededIndexes: non-increasing order, previous: 2, current: 2',
      'spec.successPolicy.rules[1].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)',
      'spec.successPolicy.rules[2]: Required value: at least one of succeededCount or succeededIndexes must be specified',
    ],
  ],
  [
    'labels of another job',
    { template: template(never, { 'job-name': 'two' }) },
    [
      `spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"${uid}","batch.kubernetes.io/job-name":"one","controller-uid":"${uid}","job-name":"two"}: must be 'one'`,
    ],
  ],
  [
    'a selector of its own that nothing says is manual',
    { selector: { matchLabels: { app: 'web' } } },
    [
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","batch.kubernetes.io/controller-uid":"' +
        uid +
        '"}}: `selector` not auto-generated',
    ],
  ],
] as const)('a job is rejected for %s', ([, spec, faults]) => {
  expect(new OneKind(jobStrategy).create({ spec: { ...minimal.spec, ...spec } }).faults).toEqual(faults);
});

test('template, selector and completions do not change', () => {
  const jobs = new OneKind(jobStrategy);
  jobs.create(minimal);
  const { faults } = jobs.update(
    withSpec({ completions: 2, completionMode: 'Indexed', backoffLimitPerIndex: 1, parallelism: 3 }),
  );
  expect(faults).toEqual([
    'spec.completions: Invalid value: 2: can only be modified in tandem with spec.parallelism',
    'spec.completionMode: Invalid value: "Indexed": field is immutable',
    'spec.backoffLimitPerIndex: Invalid value: 1: field is immutable',
  ]);
  expect(jobs.update(withSpec({ parallelism: 3 })).faults).toEqual([]);
  const labelled = jobs.update((one) => {
    const spec = one['spec'] as JsonObject;
    const next = template({ ...never, hostname: 'a' }, { app: 'web', ...generated });
    return { ...one, spec: { ...spec, template: next } };
  });
  expect(labelled.faults.map((line) => line.replace(/Invalid value: .*: field/, '…: field'))).toEqual([
    'spec.template: …: field is immutable',
  ]);
});

test('a suspended job may change where its pods go and what they ask for', () => {
  const jobs = new OneKind(jobStrategy);
  const { object } = jobs.create({ spec: { ...minimal.spec, suspend: true } });
  const standing = (object['spec'] as { readonly template: JsonObject }).template;
  const pod = standing['spec'] as { readonly containers: readonly object[] };
  const [container] = pod.containers;
  const change = (spec: object): readonly string[] =>
    jobs.update(withSpec({ template: { ...standing, spec: { ...pod, ...spec } } })).faults;
  expect(change({ nodeSelector: { zone: 'a' } })).toEqual([]);
  expect(change({ containers: [{ ...container, resources: { limits: { cpu: '1' } } }] })).toEqual([]);
  expect(change({ hostname: 'a' })).toHaveLength(1);
});

const condition = (...types: readonly string[]): object => ({
  conditions: types.map((type) => ({ type, status: 'True' })),
});
const [start, end] = ['2026-01-01T00:00:01Z', '2026-01-01T00:00:00Z'];

test.for([
  [
    'a completion without its criteria',
    { startTime: end, completionTime: end, ...condition('Complete') },
    [
      'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    ],
  ],
  [
    'an end before the start',
    { startTime: start, completionTime: end, ...condition('Complete', 'SuccessCriteriaMet') },
    [`status.completionTime: Invalid value: "${end}": must be equal to or after \`startTime\``],
  ],
  [
    'a failure without a start',
    { active: 1, ...condition('Failed') },
    [
      'status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition',
      'status.active: Invalid value: 1: active>0 is invalid for finished job',
      'status.startTime: Required value: startTime is required for finished job',
    ],
  ],
  [
    'more ready than active',
    { ready: 1 },
    ['status.ready: Invalid value: 1: cannot set more ready pods than active'],
  ],
  [
    'indexes of a job without them',
    { completedIndexes: '0' },
    [
      'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
    ],
  ],
  [
    'a pod that counts twice',
    { uncountedTerminatedPods: { succeeded: ['a'], failed: ['a', ''] } },
    [
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
      'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
    ],
  ],
] as const)('a status is rejected for %s', ([, status, faults]) => {
  const jobs = new OneKind(jobStrategy);
  jobs.create(minimal);
  expect(jobs.update(withStatus(status), 'status').faults).toEqual(faults);
});

test('an end is not taken back', () => {
  const jobs = new OneKind(jobStrategy);
  jobs.create(minimal);
  const finished = { startTime: end, failed: 2, ...condition('Failed', 'FailureTarget') };
  expect(jobs.update(withStatus(finished), 'status').faults).toEqual([]);
  expect(jobs.update(withStatus({ startTime: end, failed: 1 }), 'status').faults).toEqual([
    'status.conditions: Invalid value: cannot disable the terminal Failed=True condition',
    'status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition',
    'status.failed: Invalid value: 1: cannot decrease the failed counter',
  ]);
});
