import { expect, test } from 'vitest';
import { cronJobStrategy } from '../../../../src/apiserver/registry/batch/cron-job.ts';
import { body, cellsOf, defaulted, OneKind, template, withSpec } from '../one-kind.ts';

const never = { restartPolicy: 'Never' };
const jobTemplate = { spec: { template: template(never) } };
const minimal = { spec: { schedule: '*/5 * * * *', jobTemplate } };

test('a cron job gets its defaults, and its jobs those of a template only', () => {
  const { object } = new OneKind(cronJobStrategy).create(minimal);
  expect(body(object)).toEqual({
    metadata: { generation: 1 },
    spec: {
      schedule: '*/5 * * * *',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: { metadata: {}, spec: { template: defaulted(never) } },
    },
    status: {},
  });
  expect(cellsOf('batch/cronjobs', object)).toEqual([
    ...['one', '*/5 * * * *', '<none>', 'False', 0, '<none>', '0s', 'c', 'web:1', '<none>'],
  ]);
});

test.for([
  ['no schedule', { schedule: '' }, ['spec.schedule: Required value']],
  [
    'half a schedule',
    { schedule: '* *' },
    ['spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]'],
  ],
  [
    'a zone in the schedule',
    { schedule: 'TZ=UTC 0 0 * * *' },
    [
      'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  ],
  [
    'an unknown zone',
    { timeZone: 'Moon/Base' },
    ['spec.timeZone: Invalid value: "Moon/Base": unknown time zone Moon/Base'],
  ],
  [
    'the zone of the machine',
    { timeZone: 'Local' },
    [
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
  ],
  [
    'a policy',
    { concurrencyPolicy: 'Queue' },
    ['spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    'a selector of its jobs',
    { jobTemplate: { spec: { ...jobTemplate.spec, manualSelector: true, selector: {} } } },
    [
      'spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ],
  [
    'pods that restart',
    { jobTemplate: { spec: { template: template() } } },
    ['spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
] as const)('a cron job is rejected for %s', ([, spec, faults]) => {
  expect(new OneKind(cronJobStrategy).create({ spec: { ...minimal.spec, ...spec } }).faults).toEqual(faults);
});

test('a name leaves room for the time of the job, and changes count', () => {
  const cronJobs = new OneKind(cronJobStrategy);
  const name = 'a'.repeat(53);
  expect(cronJobs.create({ ...minimal, metadata: { name } }).faults).toEqual([
    `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
  ]);
  cronJobs.create(minimal);
  expect(cronJobs.update(withSpec({ suspend: true })).object).toHaveProperty('metadata.generation', 2);
});
