import type { Condition, Job, Pod } from '../workload/types.ts';
import { conditionOf } from './job-conditions.ts';
import { type Ends, hasFailed } from './job-ends.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';
import { matchSuccessPolicy } from './success-policy.ts';

/** Why a Job ends: as the condition that says so before all its pods are gone. */
export type End = Required<Pick<Condition, 'reason' | 'message'>> & {
  readonly type: 'FailureTarget' | 'SuccessCriteriaMet';
};

const failure = (reason: string, message: string): End => ({ type: 'FailureTarget', reason, message });

export const completionsReached: End = {
  type: 'SuccessCriteriaMet',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/** What is known of a Job. */
export interface Findings {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly ends: Ends;
  readonly now: number;
}

/** Returns why a Job ends now, whatever else it would do; undefined: it goes on. An end that has begun stays, failure precedes success. */
export const endOf = (found: Findings): End | undefined =>
  begunEnd(found.job) ??
  policyFailure(found) ??
  limitExceeded(found) ??
  indexFailure(found) ??
  earlySuccess(found);

function begunEnd(job: Job): End | undefined {
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const condition = conditionOf(job, type);
    if (condition) return { type, reason: condition.reason ?? '', message: condition.message ?? '' };
  }
  return undefined;
}

function policyFailure({ job, pods }: Findings): End | undefined {
  for (const pod of pods.filter((one) => hasFailed(job, one))) {
    const match = matchFailurePolicy(job.spec?.podFailurePolicy, pod);
    if (match?.action === 'FailJob') return failure('PodFailurePolicy', match.message);
  }
  return undefined;
}

function limitExceeded({ job, pods, ends, now }: Findings): End | undefined {
  const limit = job.spec?.backoffLimit ?? 6;
  if (ends.failed > limit || restartsExceed(job, pods, limit))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  const deadline = deadlineOf(job);
  return deadline !== undefined && now >= deadline
    ? failure('DeadlineExceeded', 'Job was active longer than specified deadline')
    : undefined;
}

/** Restarts count where containers restart within their pod. */
function restartsExceed({ spec }: Job, pods: readonly Pod[], limit: number): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending')
    .flatMap(({ status }) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Returns when a Job has been active for too long, ms; undefined: it has no deadline, or is suspended. */
export function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined || spec.suspend === true) return undefined;
  if (status?.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

function indexFailure({ job: { spec }, ends: { failedIndexes, completed } }: Findings): End | undefined {
  if (!failedIndexes) return undefined;
  if (failedIndexes.size > (spec?.maxFailedIndexes ?? Infinity))
    return failure(
      'MaxFailedIndexesExceeded',
      'Job has exceeded the specified maximal number of failed indexes',
    );
  return failedIndexes.size > 0 && failedIndexes.size + completed.size >= (spec?.completions ?? 0)
    ? failure('FailedIndexes', 'Job has failed indexes')
    : undefined;
}

function earlySuccess({ job, ends }: Findings): End | undefined {
  const rule = matchSuccessPolicy(job, ends.completed);
  if (rule === undefined) return undefined;
  return { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` };
}
