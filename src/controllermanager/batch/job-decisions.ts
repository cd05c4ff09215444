import { seconds } from '../../apimachinery/times.ts';
import { isActive, isReady, isTerminating } from '../workload/pods.ts';
import { createdMs, uidOf, withCondition } from '../workload/objects.ts';
import type { Condition, Job, Pod } from '../workload/types.ts';
import { completedIndexes, indexesText, indexOf } from './job-indexes.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
type Status = NonNullable<Job['status']>;

/** What a Job does next. */
export interface JobPlan {
  readonly status: Status;
  /** Pods whose end the status has: their finalizer is removed after the status is written. */
  readonly release: readonly Pod[];
  readonly remove: readonly Pod[];
  /** How many pods to create; of an indexed Job, with these indexes. */
  readonly create: number;
  readonly indexes: readonly number[];
  /** When the Job is looked at again without an event, ms from now. */
  readonly after?: number;
}

/** Failures since the last success, for the back-off. */
export interface Failures {
  readonly count: number;
  /** ms */
  readonly last: number;
}

export const conditionOf = ({ status }: Job, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type && one.status === 'True');

/** True once the Job is complete or has failed. */
export const isFinished = (job: Job): boolean =>
  conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined;

export const isTracked = ({ metadata }: Pod): boolean =>
  metadata?.finalizers?.includes(trackingFinalizer) === true;

const isIndexed = ({ spec }: Job): boolean => spec?.completionMode === 'Indexed';

/** True for a pod that has failed; one that is being deleted counts as such, unless only failed pods are replaced. */
const hasFailed = ({ spec }: Job, { metadata, status }: Pod): boolean =>
  status?.phase === 'Failed' ||
  (spec?.podReplacementPolicy !== 'Failed' &&
    metadata?.deletionTimestamp !== undefined &&
    status?.phase !== 'Succeeded');

/** The ends of pods that are counted, and those whose pods are yet to be released. */
interface Count {
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly completed: ReadonlySet<number>;
  readonly release: readonly Pod[];
  /** Why the policy of pod failures ends the Job. */
  readonly policyFailure?: string;
}

/** Counts the ends of pods: UIDs are recorded in the status while pods have their finalizer, so that each counts once. */
// eslint-disable-next-line complexity -- the cases of trackJobStatusAndRemoveFinalizers in their order
export function countEnds(job: Job, pods: readonly Pod[]): Count {
  const { status = {} } = job;
  const tracked = new Map(pods.filter(isTracked).map((pod) => [uidOf(pod), pod]));
  const before = status.uncountedTerminatedPods ?? {};
  const split = (uids: readonly string[] = []): [kept: string[], counted: number] => {
    const kept = uids.filter((uid) => tracked.has(uid));
    return [kept, uids.length - kept.length];
  };
  const [succeeded, newlySucceeded] = split(before.succeeded);
  const [failed, newlyFailed] = split(before.failed);
  const release: Pod[] = [];
  let policyFailure: string | undefined;
  for (const [uid, pod] of tracked) {
    const isFailure = hasFailed(job, pod);
    if (pod.status?.phase !== 'Succeeded' && !isFailure) continue;
    release.push(pod);
    if (!isFailure) {
      if (!isIndexed(job) && !succeeded.includes(uid)) succeeded.push(uid);
      continue;
    }
    const match =
      pod.status?.phase === 'Failed' ? matchFailurePolicy(job.spec?.podFailurePolicy, pod) : undefined;
    if (match?.action === 'FailJob') policyFailure ??= match.message;
    if (match?.action !== 'Ignore' && !failed.includes(uid)) failed.push(uid);
  }
  const completed = completedIndexes(job, pods);
  return {
    succeeded: isIndexed(job) ? completed.size : (status.succeeded ?? 0) + newlySucceeded,
    failed: (status.failed ?? 0) + newlyFailed,
    uncounted: { succeeded, failed },
    completed,
    release,
    ...(policyFailure !== undefined && { policyFailure }),
  };
}

type End = Pick<Condition, 'type' | 'reason' | 'message'>;

/** Returns why a Job ends now; undefined: it goes on. */
// eslint-disable-next-line complexity -- the reasons of syncJob in their order
function endOf(
  job: Job,
  count: Count,
  { pods, now }: { readonly pods: readonly Pod[]; readonly now: number },
): End | undefined {
  const begun = ['FailureTarget', 'SuccessCriteriaMet'].flatMap((type) => conditionOf(job, type) ?? [])[0];
  if (begun) return begun;
  const fails = (reason: string, message: string): End => ({ type: 'FailureTarget', reason, message });
  const { spec, status } = job;
  if (count.policyFailure !== undefined) return fails('PodFailurePolicy', count.policyFailure);
  const limit = spec?.backoffLimit ?? 6;
  const failed = count.failed + count.uncounted.failed.length;
  if (failed > limit || restartsExceed(job, pods, limit))
    return fails('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  const deadline = deadlineOf(job);
  if (deadline !== undefined && status?.startTime !== undefined && spec?.suspend !== true && now >= deadline)
    return fails('DeadlineExceeded', 'Job was active longer than specified deadline');
  const succeeded = count.succeeded + count.uncounted.succeeded.length;
  const active = pods.some(isActive);
  const isDone = spec?.completions === undefined ? succeeded > 0 && !active : succeeded >= spec.completions;
  return isDone
    ? {
        type: 'SuccessCriteriaMet',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
}

/** Restarts count where containers restart within their pod. */
function restartsExceed({ spec }: Job, pods: readonly Pod[], limit: number): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(isActive)
    .flatMap(({ status }) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined || status?.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/** The first pause after a failure, and the longest, ms. */
const backoffMs = 10_000;
const longestBackoffMs = 600_000;

/** Returns how long no pod is created after failures, ms. */
export const backoffAfter = ({ count, last }: Failures, now: number): number =>
  count === 0 ? 0 : Math.max(0, last + Math.min(backoffMs * 2 ** (count - 1), longestBackoffMs) - now);

/** Returns what a Job does next. */
// eslint-disable-next-line complexity -- the steps of manageJob in their order
export function planJob(
  job: Job,
  {
    pods,
    now,
    failures,
  }: { readonly pods: readonly Pod[]; readonly now: number; readonly failures: Failures },
): JobPlan {
  const count = countEnds(job, pods);
  const end = endOf(job, count, { pods, now });
  const active = pods.filter(isActive);
  const suspended = job.spec?.suspend === true && !end;
  const target = end || suspended ? 0 : wantedActive(job, count, active.length);
  const terminating = pods.filter(isTerminating).length;
  const held = job.spec?.podReplacementPolicy === 'Failed' ? terminating : 0;
  const pause = backoffAfter(failures, now);
  const missing = Math.max(0, target - active.length - held);
  const remove = active.length > target ? excess(active, active.length - target) : [];
  const create = pause > 0 || remove.length > 0 ? 0 : missing;
  const waits = [pause > 0 && missing > 0 ? pause : undefined, timeLeft(job, end, now)].filter(
    (wait) => wait !== undefined,
  );
  const status = statusOf(job, { count, end, pods, now, suspended });
  return {
    status,
    release: count.release,
    remove,
    create,
    indexes: isIndexed(job) ? freeIndexes(job, count, active).slice(0, create) : [],
    ...(waits.length > 0 && { after: Math.max(1, Math.min(...waits)) }),
  };
}

const timeLeft = (job: Job, end: End | undefined, now: number): number | undefined => {
  const deadline = deadlineOf(job);
  return end || deadline === undefined ? undefined : deadline - now;
};

function wantedActive({ spec }: Job, count: Count, active: number): number {
  const parallelism = spec?.parallelism ?? 1;
  const succeeded = count.succeeded + count.uncounted.succeeded.length;
  if (spec?.completions === undefined) return succeeded > 0 ? Math.min(active, parallelism) : parallelism;
  return Math.min(parallelism, Math.max(0, spec.completions - succeeded));
}

/** Pods that have not become ready go first, then the youngest. */
const excess = (active: readonly Pod[], count: number): readonly Pod[] =>
  [...active]
    .sort((one, other) => Number(isReady(one)) - Number(isReady(other)) || createdMs(other) - createdMs(one))
    .slice(0, count);

function freeIndexes({ spec }: Job, { completed }: Count, active: readonly Pod[]): number[] {
  const taken = new Set(active.map(indexOf));
  const all = Array.from({ length: spec?.completions ?? 0 }, (_, index) => index);
  return all.filter((index) => !completed.has(index) && !taken.has(index));
}

interface Found {
  readonly count: Count;
  readonly end: End | undefined;
  readonly pods: readonly Pod[];
  readonly now: number;
  readonly suspended: boolean;
}

// eslint-disable-next-line complexity -- one member after the other
function statusOf(job: Job, found: Found): Status {
  const { count, end, pods, now, suspended } = found;
  const time = seconds(now);
  const { uncounted } = count;
  const isSettled =
    uncounted.succeeded.length === 0 && uncounted.failed.length === 0 && count.release.length === 0;
  const isOver = end !== undefined && isSettled && !pods.some((pod) => isActive(pod) || isTerminating(pod));
  const conditions = conditionsOf(job, { ...found, isOver });
  const { startTime } = job.status ?? {};
  const isComplete = isOver && end.type === 'SuccessCriteriaMet';
  return {
    ...(suspended ? {} : { startTime: startTime ?? time }),
    active: pods.filter(isActive).length,
    ready: pods.filter((pod) => isActive(pod) && isReady(pod)).length,
    terminating: pods.filter(isTerminating).length,
    ...(count.succeeded > 0 && { succeeded: count.succeeded }),
    ...(count.failed > 0 && { failed: count.failed }),
    ...(isIndexed(job) && count.completed.size > 0 && { completedIndexes: indexesText(count.completed) }),
    uncountedTerminatedPods: {
      ...(uncounted.succeeded.length > 0 && { succeeded: [...uncounted.succeeded] }),
      ...(uncounted.failed.length > 0 && { failed: [...uncounted.failed] }),
    },
    ...(conditions.length > 0 && { conditions }),
    ...(isComplete && { completionTime: time }),
  };
}

function conditionsOf(
  job: Job,
  { end, suspended, now, isOver }: Found & { readonly isOver: boolean },
): Condition[] {
  const time = seconds(now);
  const at = { lastProbeTime: time };
  let conditions = (job.status?.conditions ?? []) as Condition[];
  const set = (condition: Omit<Condition, 'lastTransitionTime'>): void => {
    const before = conditions.find(({ type }) => type === condition.type);
    if (before?.status !== condition.status)
      conditions = withCondition(conditions, { ...condition, ...at }, time);
  };
  const wasSuspended = conditions.some(({ type }) => type === 'Suspended');
  if (suspended) set({ type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' });
  else if (wasSuspended)
    set({ type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' });
  if (!end) return conditions;
  const { reason = '', message = '' } = end;
  set({ type: end.type, status: 'True', reason, message });
  if (isOver)
    set({ type: end.type === 'FailureTarget' ? 'Failed' : 'Complete', status: 'True', reason, message });
  return conditions;
}
