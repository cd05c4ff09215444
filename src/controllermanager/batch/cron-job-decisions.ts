import { parseCronSchedule } from '../../kube/cron-schedule.ts';
import { seconds } from '../../apimachinery/times.ts';
import { kinds } from '../../controller/kinds.ts';
import {
  controllerReference,
  createdMs,
  isDeleted,
  nameOf,
  namespaceOf,
  uidOf,
} from '../workload/objects.ts';
import type { CronJob, Job } from '../workload/types.ts';
import { missedTimes, nextTime, tooMany } from './cron-times.ts';
import { conditionOf, isFinished } from './job-conditions.ts';

/** An Event of a plan. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What a CronJob does next. */
export interface CronPlan {
  readonly status: NonNullable<CronJob['status']>;
  /** Jobs that the concurrency policy replaces, and those beyond the history. */
  readonly remove: readonly Job[];
  readonly create?: { readonly job: Job; readonly scheduled: number };
  readonly notes: readonly Note[];
  /** When the next Job is due, ms from now. */
  readonly after?: number;
}

/** Returns the Job of a scheduled time. Its name is that of the minute, so that it is created once. */
export function jobOf(cron: CronJob, scheduled: number): Job {
  const { metadata, spec } = cron.spec.jobTemplate;
  return {
    metadata: {
      namespace: namespaceOf(cron),
      name: `${nameOf(cron)}-${Math.floor(scheduled / 60_000)}`,
      labels: { ...metadata?.labels },
      annotations: {
        ...metadata?.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': seconds(scheduled),
      },
      ownerReferences: [controllerReference(cron, kinds.CronJob)],
    },
    ...(spec && { spec }),
  };
}

const finishedAt = (job: Job): number =>
  Date.parse(job.status?.completionTime ?? conditionOf(job, 'Failed')?.lastTransitionTime ?? '') ||
  createdMs(job);

/** Returns the finished Jobs beyond the limits of the history, the oldest first. */
export function beyondHistory({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const oldest = (type: 'Complete' | 'Failed', limit: number | undefined): readonly Job[] => {
    const done = jobs.filter((job) => conditionOf(job, type) !== undefined);
    if (limit === undefined || done.length <= limit) return [];
    const sorted = done.toSorted((one, other) => createdMs(one) - createdMs(other));
    return sorted.slice(0, done.length - limit);
  };
  return [
    ...oldest('Complete', spec.successfulJobsHistoryLimit),
    ...oldest('Failed', spec.failedJobsHistoryLimit),
  ];
}

/** Returns what a CronJob does next. */
export function planCronJob(cron: CronJob, jobs: readonly Job[], now: number): CronPlan {
  const base = withJobs(cron, jobs);
  const { spec } = cron;
  const remove = beyondHistory(cron, jobs);
  const keep = { status: base.status, remove, notes: base.notes };
  if (isDeleted(cron) || spec.suspend === true) return keep;
  const schedule = parseCronSchedule(spec.schedule);
  if (typeof schedule === 'string') {
    const message = `unparseable schedule: "${spec.schedule}" : ${schedule}`;
    return { ...keep, notes: [...keep.notes, { type: 'Warning', reason: 'UnparseableSchedule', message }] };
  }
  // without a zone the clock of kube-controller-manager counts, which is that of UTC in its image
  const zone = spec.timeZone ?? 'UTC';
  const since = sinceOf(cron, now);
  const missed = missedTimes(schedule, zone, { since, now });
  const next = nextTime(schedule, missed.last ?? since, zone);
  const after = next === undefined ? {} : { after: Math.max(1, next - now) };
  const notes = [...keep.notes];
  if (missed.count > tooMany)
    notes.push({
      type: 'Warning',
      reason: 'TooManyMissedTimes',
      message:
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    });
  if (missed.last === undefined) return { ...keep, notes, ...after };
  return { ...start(cron, jobs, { scheduled: missed.last, now, base, notes, remove }), ...after };
}

/** From when on missed times count: after the last Job, and not before the deadline. */
function sinceOf({ metadata, spec, status }: CronJob, now: number): number {
  const last = Date.parse(status?.lastScheduleTime ?? metadata?.creationTimestamp ?? '');
  const deadline = spec.startingDeadlineSeconds;
  return deadline === undefined ? last : Math.max(last, now - deadline * 1000);
}

interface Due {
  readonly scheduled: number;
  readonly now: number;
  readonly base: { readonly status: NonNullable<CronJob['status']>; readonly notes: readonly Note[] };
  readonly notes: readonly Note[];
  readonly remove: readonly Job[];
}

function start(cron: CronJob, jobs: readonly Job[], due: Due): CronPlan {
  const { scheduled, base, notes, remove } = due;
  const keep = { status: base.status, notes, remove };
  const name = `${nameOf(cron)}-${Math.floor(scheduled / 60_000)}`;
  if (jobs.some((job) => nameOf(job) === name)) return keep;
  const active = jobs.filter((job) => !isFinished(job));
  const policy = cron.spec.concurrencyPolicy;
  if (policy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    return { ...keep, notes: [...notes, { type: 'Normal', reason: 'JobAlreadyActive', message }] };
  }
  const replaced = policy === 'Replace' ? active : [];
  return {
    ...keep,
    remove: [...remove, ...replaced],
    create: { job: jobOf(cron, scheduled), scheduled },
  };
}

/** Returns the status after the Jobs that have been started and finished since. */
function withJobs(
  cron: CronJob,
  jobs: readonly Job[],
): { readonly status: NonNullable<CronJob['status']>; readonly notes: readonly Note[] } {
  const { status = {} } = cron;
  const notes: Note[] = [];
  const before = new Set((status.active ?? []).map(({ uid }) => uid));
  for (const job of jobs)
    if (isFinished(job) && before.has(uidOf(job))) {
      const end = conditionOf(job, 'Complete') ? 'Complete' : 'Failed';
      notes.push({
        type: 'Normal',
        reason: 'SawCompletedJob',
        message: `Saw completed job: ${nameOf(job)}, condition: ${end}`,
      });
    }
  const active = jobs
    .filter((job) => !isFinished(job))
    .map((job) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      namespace: namespaceOf(job),
      name: nameOf(job),
      uid: uidOf(job),
      resourceVersion:
        status.active?.find(({ uid }) => uid === uidOf(job))?.resourceVersion ??
        job.metadata?.resourceVersion ??
        '',
    }));
  const done = jobs.filter((job) => conditionOf(job, 'Complete')).map(finishedAt);
  const last = Math.max(Date.parse(status.lastSuccessfulTime ?? '') || 0, ...done);
  const { active: _a, ...rest } = status;
  return {
    status: {
      ...rest,
      ...(active.length > 0 && { active }),
      ...(last > 0 && { lastSuccessfulTime: seconds(last) }),
    },
    notes,
  };
}
