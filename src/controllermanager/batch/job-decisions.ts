import { seconds } from '../../apimachinery/times.ts';
import { burst } from '../workload/batches.ts';
import { inDeletionOrder, isActive, isReady, isTerminating } from '../workload/pods.ts';
import type { Condition, Job, Pod } from '../workload/types.ts';
import { pauseOfIndex } from './index-failures.ts';
import { type Failures, failuresAfter, pauseAfter } from './job-backoff.ts';
import { withJobCondition } from './job-conditions.ts';
import { endsOf, type Ends, isIndexed, replacesOnlyFailed, trackEnds, type Tracking } from './job-ends.ts';
import { IndexSet, indexOf } from './job-indexes.ts';
import { completionsReached, deadlineOf, type End, endOf, type Findings } from './job-outcome.ts';

type Status = NonNullable<Job['status']>;

/** A pod to create. */
export interface NewPod {
  /** Of an indexed Job. */
  readonly index?: number;
  /** The failed pod that it succeeds, of a Job that counts the failures of each index. */
  readonly last?: Pod;
}

/** What a Job does next. The pods come first, then the status, then the finalizers. */
export interface JobPlan {
  readonly create: readonly NewPod[];
  /** Pods that are deleted since the Job ends. */
  readonly end: readonly Pod[];
  /** Pods too many: they lose their finalizer before they are deleted, and do not count as failed. */
  readonly surplus: readonly Pod[];
  readonly status: Status;
  /** Pods whose end the status has: their finalizer is removed after the status is written. */
  readonly release: readonly Pod[];
  readonly failures: Failures;
  /** When the Job is looked at again without an event, ms from now. */
  readonly after?: number;
}

/** How many pods a Job has and gets. */
type Management = Pick<JobPlan, 'create' | 'surplus'> & { readonly pause: number };

/** Returns what a Job does next. */
export function planJob(
  original: Job,
  {
    pods,
    now,
    failures: before,
  }: { readonly pods: readonly Pod[]; readonly now: number; readonly failures: Failures },
): JobPlan {
  const job = started(original, now);
  const ends = endsOf(job, pods);
  const failures = failuresAfter(before, ends.fresh);
  const found: Findings = { job, pods, ends, now };
  const early = endOf(found);
  const managed = early ? { create: [], surplus: [], pause: 0 } : manage(found, failures);
  const active = pods.filter(isActive);
  const stays = active.length - managed.surplus.length + managed.create.length;
  const end = early ?? (stays === 0 && isComplete(job, ends) ? completionsReached : undefined);
  const tracking = trackEnds(job, pods, { ends, end });
  const leaving = early ? active : managed.surplus;
  const status = statusOf(found, { end, tracking, leaving, created: managed.create.length });
  const deadline = deadlineOf(job);
  const waits = [managed.pause, end || deadline === undefined ? 0 : deadline - now].filter((ms) => ms > 0);
  return {
    create: managed.create,
    surplus: managed.surplus,
    end: early ? active : [],
    status,
    release: tracking.release,
    failures,
    ...(waits.length > 0 && { after: Math.min(...waits) }),
  };
}

/** Returns the Job with the time of its start, which a suspended one does not have yet. */
function started(job: Job, now: number): Job {
  if (job.status?.startTime !== undefined || job.spec?.suspend === true) return job;
  return { ...job, status: { ...job.status, startTime: seconds(now) } };
}

const isComplete = ({ spec }: Job, { succeeded }: Ends): boolean =>
  spec?.completions === undefined ? succeeded > 0 : succeeded >= spec.completions;

/** Returns the pods that a Job creates and those it has too many (`manageJob`); it does one or the other. */
function manage({ job, pods, ends, now }: Findings, failures: Failures): Management {
  const active = pods.filter(isActive);
  const target = job.spec?.suspend === true ? 0 : targetOf(job, ends, active.length);
  const surplus = surplusOf(job, active, { count: active.length - target, now }).slice(0, burst);
  if (job.spec?.suspend === true || surplus.length > 0) return { create: [], surplus, pause: 0 };
  const held = replacesOnlyFailed(job) ? pods.filter(isTerminating).length : 0;
  const missing = Math.min(burst, target - held - active.length);
  if (missing <= 0) return { create: [], surplus, pause: 0 };
  const pause = ends.failedIndexes ? 0 : pauseAfter(failures.count, failures.last, now);
  if (pause > 0) return { create: [], surplus, pause };
  if (!isIndexed(job)) return { create: Array.from({ length: missing }, () => ({})), surplus, pause };
  return { surplus, ...createIndexes({ job, pods, ends, now }, missing) };
}

/** Returns how many pods should be active. */
function targetOf({ spec }: Job, { succeeded }: Ends, active: number): number {
  const parallelism = spec?.parallelism ?? 1;
  if (spec?.completions === undefined) return succeeded > 0 ? active : parallelism;
  return Math.min(parallelism, Math.max(0, spec.completions - succeeded));
}

/** Returns at least `count` active pods to delete; of an indexed Job all that have no index of their own, too. */
function surplusOf(
  job: Job,
  active: readonly Pod[],
  { count, now }: { readonly count: number; readonly now: number },
): readonly Pod[] {
  const order = inDeletionOrder(active, [], now);
  const excess = new Set<Pod>();
  if (isIndexed(job)) {
    const indexes = new Set<number>();
    for (const pod of order.toReversed()) {
      const index = indexOf(pod);
      if (index < 0 || index >= (job.spec?.completions ?? 0) || indexes.has(index)) excess.add(pod);
      indexes.add(index);
    }
  }
  for (const pod of order) if (excess.size < count) excess.add(pod);
  return [...excess];
}

function createIndexes(
  { job, pods, ends, now }: Findings,
  count: number,
): { readonly create: readonly NewPod[]; readonly pause: number } {
  const present = pods.filter((pod) => isActive(pod) || (replacesOnlyFailed(job) && isTerminating(pod)));
  let taken = ends.completed.union(IndexSet.of(present.map(indexOf).filter((index) => index >= 0)));
  if (ends.failedIndexes) taken = taken.union(ends.failedIndexes);
  const all = taken.missing(count, job.spec?.completions ?? 0).map((index) => {
    const last = ends.waiting.get(index);
    return { index, ...(last && { last }), pause: pauseOfIndex(last, now) };
  });
  const pauses = all.map(({ pause }) => pause).filter((pause) => pause > 0);
  return {
    create: all.filter(({ pause }) => pause === 0).map(({ pause: _pause, ...pod }) => pod),
    pause: pauses.length > 0 ? Math.min(...pauses) : 0,
  };
}

/** What a plan does, for the status. */
interface Outcome {
  readonly end: End | undefined;
  readonly tracking: Tracking;
  /** Active pods that are deleted. */
  readonly leaving: readonly Pod[];
  readonly created: number;
}

function statusOf(found: Findings, outcome: Outcome): Status {
  const { pods, now } = found;
  const { tracking, leaving, created } = outcome;
  const staying = pods.filter((pod) => isActive(pod) && !leaving.includes(pod));
  const terminating = pods.filter(isTerminating).length + leaving.length;
  const { succeeded, failed } = tracking.uncounted;
  const active = staying.length + created;
  const isSettled = succeeded.length + failed.length + tracking.release.length === 0;
  const isOver = isSettled && active === 0 && terminating === 0;
  return {
    active,
    ready: staying.filter(isReady).length,
    terminating,
    ...countsOf(found.ends, tracking),
    ...conditionsOf(found, { end: outcome.end, isOver }),
    ...(isOver && outcome.end?.type === 'SuccessCriteriaMet' && { completionTime: seconds(now) }),
  };
}

function countsOf({ completed, failedIndexes }: Ends, { succeeded, failed, uncounted }: Tracking): Status {
  return {
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    ...(completed.size > 0 && { completedIndexes: String(completed) }),
    ...(failedIndexes && { failedIndexes: String(failedIndexes) }),
    uncountedTerminatedPods: {
      ...(uncounted.succeeded.length > 0 && { succeeded: [...uncounted.succeeded] }),
      ...(uncounted.failed.length > 0 && { failed: [...uncounted.failed] }),
    },
  };
}

/** Returns the conditions and the time of the start: it is that of the last resumption, so that a deadline counts active seconds. */
function conditionsOf(
  { job, now }: Findings,
  { end, isOver }: { readonly end: End | undefined; readonly isOver: boolean },
): Status {
  const { conditions: before = [], startTime } = job.status ?? {};
  const after = end ? endingConditions(before, end, { isOver, now }) : suspension(job, before, now);
  const conditions = after.length > 0 ? { conditions: [...after] as typeof before } : {};
  if (end || after === before) return { ...conditions, ...(startTime !== undefined && { startTime }) };
  return job.spec?.suspend === true ? conditions : { ...conditions, startTime: seconds(now) };
}

function endingConditions(
  conditions: readonly Condition[],
  end: End,
  { isOver, now }: { readonly isOver: boolean; readonly now: number },
): readonly Condition[] {
  const target = withJobCondition(conditions, { ...end, status: 'True' }, now);
  const type = end.type === 'FailureTarget' ? 'Failed' : 'Complete';
  return isOver ? withJobCondition(target, { ...end, type, status: 'True' }, now) : target;
}

const suspension = ({ spec }: Job, conditions: readonly Condition[], now: number): readonly Condition[] =>
  withJobCondition(
    conditions,
    spec?.suspend === true
      ? { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }
      : { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' },
    now,
  );
