import { isTimeZone, parseCronSchedule } from '../../../kube/cron-schedule.ts';
import { type Faults, invalid, oneOf, required, unsupported } from '../../../kube/validation/field-error.ts';
import {
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { enabledTemplate, podNameWarnings } from '../core/pod-template-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { shownSelector } from '../validation/selector-rules.ts';
import { nonNegatives } from '../validation/value-rules.ts';
import { jobSpecFaults, jobTemplateDefaults, jobWarnings } from './job-rules.ts';
import type { WriteContext } from '../../request/write-context.ts';

/** Returns the cron job with a changed spec of its job template. */
function withJobSpec(cronJob: JsonObject, change: (spec: JsonObject) => JsonObject): JsonObject {
  const spec = specOf(cronJob);
  const template = objectAt(spec, 'jobTemplate');
  return { ...cronJob, spec: { ...spec, jobTemplate: { ...template, spec: change(specOf(template)) } } };
}

const jobSpecOf = (cronJob: JsonObject): JsonObject => specOf(objectAt(specOf(cronJob), 'jobTemplate'));

const defaults = (cronJob: JsonObject): JsonObject =>
  withJobSpec(
    {
      ...cronJob,
      spec: {
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        ...specOf(cronJob),
        concurrencyPolicy: stringAt(specOf(cronJob), 'concurrencyPolicy') || 'Allow',
      },
    },
    jobTemplateDefaults,
  );

const enabled = (cronJob: JsonObject, context: WriteContext): JsonObject =>
  withJobSpec(cronJob, (spec) => ({
    ...spec,
    template: enabledTemplate(objectAt(spec, 'template'), context),
  }));

function* scheduleFaults(spec: JsonObject, old: JsonObject | undefined): Faults {
  const schedule = stringAt(spec, 'schedule');
  const field = 'spec.schedule';
  if (schedule === '') {
    yield required(field);
    return;
  }
  const parsed = parseCronSchedule(schedule);
  if (typeof parsed === 'string') yield invalid(field, schedule, parsed);
  if (!schedule.includes('TZ')) return;
  // an old cron job may keep its zone in the schedule
  if (!old || !stringAt(specOf(old), 'schedule').includes('TZ'))
    yield invalid(field, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else if (spec['timeZone'] !== undefined)
    yield invalid(field, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
}

const zonePart = /^[A-Za-z.\-_0-9+]{1,14}$/;

function* timeZone(field: string, zone: unknown): Faults {
  if (typeof zone !== 'string') return;
  if (zone === '') yield invalid(field, zone, 'timeZone must be nil or non-empty string');
  else if (
    zone
      .split('/')
      .some((part) => part === '.' || part === '..' || part.startsWith('-') || !zonePart.test(part))
  )
    yield invalid(field, zone, `unknown time zone ${zone}`);
  else {
    if (zone.toLowerCase() === 'local')
      yield invalid(
        field,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      );
    if (!isTimeZone(zone)) yield invalid(field, zone, `unknown time zone ${zone}`);
  }
}

/** Validates a cron job. Follows Kubernetes `validateCronJobSpec` (pkg/apis/batch/validation, v1.36). */
function* faults(cronJob: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(cronJob);
  yield* scheduleFaults(spec, old);
  yield* nonNegatives('spec', spec, 'startingDeadlineSeconds');
  if (!old || specOf(old)['timeZone'] !== spec['timeZone'])
    yield* timeZone('spec.timeZone', spec['timeZone']);
  yield* oneOf('spec.concurrencyPolicy', stringAt(spec, 'concurrencyPolicy'), ['Allow', 'Forbid', 'Replace']);
  const job = jobSpecOf(cronJob);
  const field = 'spec.jobTemplate.spec';
  yield* jobSpecFaults(field, job);
  if (job['selector'] !== undefined)
    yield invalid(`${field}.selector`, shownSelector(job['selector']), '`selector` will be auto-generated');
  if (job['manualSelector'] === true) yield unsupported(`${field}.manualSelector`, true, ['nil', 'false']);
  yield* nonNegatives('spec', spec, 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit');
  if (!old && Buffer.byteLength(nameOf(cronJob)) > 52)
    yield invalid('metadata.name', nameOf(cronJob), 'must be no more than 52 characters');
}

function warnings(cronJob: JsonObject, old: JsonObject | undefined): readonly string[] {
  const job = (): readonly string[] => jobWarnings('spec.jobTemplate.spec', jobSpecOf(cronJob));
  if (!old) return [...podNameWarnings(cronJob), ...job()];
  return [
    ...(metadataOf(cronJob)['generation'] === metadataOf(old)['generation'] ? [] : job()),
    ...(stringAt(specOf(cronJob), 'schedule').includes('TZ')
      ? [
          'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
        ]
      : []),
  ];
}

/** Strategy of cron jobs. */
export const cronJobStrategy: Strategy = strategyOf(builtIn('cronjobs', 'batch'), {
  defaults,
  prepare: (cronJob, _old, context) => enabled(cronJob, context),
  faults,
  warnings,
  status: { metadataChecks: [] },
});
