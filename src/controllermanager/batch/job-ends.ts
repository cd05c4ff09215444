import { uidOf } from '../workload/objects.ts';
import type { Job, Pod } from '../workload/types.ts';
import { countsByIndex, failsIndex, podsToSucceed } from './index-failures.ts';
import { IndexSet, indexOf } from './job-indexes.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

/** Finalizer by which a pod waits until its end is counted. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';

export const isTracked = ({ metadata }: Pod): boolean =>
  metadata?.finalizers?.includes(trackingFinalizer) === true;

export const isIndexed = ({ spec }: Job): boolean => spec?.completionMode === 'Indexed';

/** True for a Job that replaces a pod only after it has failed, not already while it is being deleted. */
export const replacesOnlyFailed = ({ spec }: Job): boolean =>
  spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined;

/** True for a pod that has failed; one that is being deleted counts as such, unless only failed pods are replaced. */
export const hasFailed = (job: Job, { metadata, status }: Pod): boolean =>
  status?.phase === 'Failed' ||
  (!replacesOnlyFailed(job) && metadata?.deletionTimestamp !== undefined && status?.phase !== 'Succeeded');

export const hasSucceeded = ({ status }: Pod): boolean => status?.phase === 'Succeeded';

/** True for a pod whose index the Job has; of a Job without indexes, for all. */
export const hasPlace = (job: Job, pod: Pod): boolean =>
  !isIndexed(job) || (indexOf(pod) >= 0 && indexOf(pod) < (job.spec?.completions ?? 0));

/** How the pods of a Job have ended so far. */
export interface Ends {
  /** Pods that have succeeded; of an indexed Job, its indexes. */
  readonly succeeded: number;
  /** Failures that count. */
  readonly failed: number;
  /** Pods that have succeeded or failed since the status was written. */
  readonly fresh: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] };
  readonly completed: IndexSet;
  /** Of a Job with a limit for each index. */
  readonly failedIndexes?: IndexSet;
  /** Failed pods that keep their finalizer until their successor is created, by index. */
  readonly waiting: ReadonlyMap<number, Pod>;
}

/** Returns how the pods of a Job have ended: what the status has counted, and what has happened since. */
export function endsOf(job: Job, pods: readonly Pod[]): Ends {
  const { status = {}, spec } = job;
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const tracked = pods.filter((pod) => isTracked(pod) && hasPlace(job, pod));
  const fresh = {
    succeeded: tracked.filter((pod) => hasSucceeded(pod) && !succeeded.includes(uidOf(pod))),
    failed: tracked.filter((pod) => hasFailed(job, pod) && !failed.includes(uidOf(pod))),
  };
  const counting = fresh.failed.filter(
    (pod) => matchFailurePolicy(spec?.podFailurePolicy, pod)?.action !== 'Ignore',
  );
  const indexes = indexesOf(job, tracked);
  return {
    ...indexes,
    fresh,
    succeeded: isIndexed(job)
      ? indexes.completed.size
      : (status.succeeded ?? 0) + succeeded.length + fresh.succeeded.length,
    failed: (status.failed ?? 0) + failed.length + counting.length,
  };
}

function indexesOf(job: Job, tracked: readonly Pod[]): Pick<Ends, 'completed' | 'failedIndexes' | 'waiting'> {
  if (!isIndexed(job)) return { completed: IndexSet.of([]), waiting: new Map() };
  const { status, spec } = job;
  const completions = spec?.completions ?? 0;
  const completed = IndexSet.parse(status?.completedIndexes ?? '', completions).union(
    IndexSet.of(tracked.filter(hasSucceeded).map(indexOf)),
  );
  if (!countsByIndex(job)) return { completed, waiting: new Map() };
  const failed = tracked.filter((pod) => hasFailed(job, pod));
  const failedIndexes = IndexSet.parse(status?.failedIndexes ?? '', completions).union(
    IndexSet.of(failed.filter((pod) => failsIndex(job, pod)).map(indexOf)),
  );
  const waiting = podsToSucceed(failed, tracked, completed.union(failedIndexes));
  return { completed, failedIndexes, waiting };
}

/** What the status records about ends, and which pods lose their finalizer when it is written. */
export interface Tracking {
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly release: readonly Pod[];
}

/** The most pods whose end one status takes in: 500 UIDs are about 20 KB. */
const mostUncounted = 500;

/** UIDs of a status, and how many of them have lost their pod or its finalizer since, and count. */
interface Uids {
  readonly pending: string[];
  readonly counted: number;
}

function uidsOf(all: readonly string[] = [], tracked: ReadonlySet<string>): Uids {
  const pending = all.filter((uid) => tracked.has(uid));
  return { pending, counted: all.length - pending.length };
}

/**
 * Returns what the status records (`trackJobStatusAndRemoveFinalizers`): UIDs stay in it while pods have their finalizer, so that each end
 * counts once.
 *
 * @param end why the Job ends; then all its pods are released, and those of a failed one that have not succeeded count as failed
 */
export function trackEnds(
  job: Job,
  pods: readonly Pod[],
  { ends, end }: { readonly ends: Ends; readonly end: { readonly type: string } | undefined },
): Tracking {
  const { status = {} } = job;
  const tracked = pods.filter(isTracked).toSorted((one, other) => indexOf(one) - indexOf(other));
  const present = new Set(tracked.map(uidOf));
  const succeeded = uidsOf(status.uncountedTerminatedPods?.succeeded, present);
  const failed = uidsOf(status.uncountedTerminatedPods?.failed, present);
  const lists = { succeeded: succeeded.pending, failed: failed.pending, uncounted: undefined };
  const release: Pod[] = [];
  for (const pod of tracked) {
    const result = resultOf(job, pod, { ends, end });
    if (result === 'pending') continue;
    release.push(pod);
    const isListed = [succeeded, failed].some(({ pending }) => pending.includes(uidOf(pod)));
    if (!isListed) lists[result]?.push(uidOf(pod));
    if (succeeded.pending.length + failed.pending.length >= mostUncounted) break;
  }
  return {
    succeeded: isIndexed(job) ? ends.completed.size : (status.succeeded ?? 0) + succeeded.counted,
    failed: (status.failed ?? 0) + failed.counted,
    uncounted: { succeeded: succeeded.pending, failed: failed.pending },
    release,
  };
}

/** Returns how the end of a pod counts: `pending` while it keeps its finalizer; `uncounted` where nothing but its index counts, or nothing. */
function resultOf(
  job: Job,
  pod: Pod,
  { ends, end }: { readonly ends: Ends; readonly end: { readonly type: string } | undefined },
): 'pending' | 'succeeded' | 'failed' | 'uncounted' {
  if (hasSucceeded(pod)) return isIndexed(job) ? 'uncounted' : 'succeeded';
  const isFailure = hasFailed(job, pod);
  const isReleased = end !== undefined || (isFailure && ends.waiting.get(indexOf(pod)) !== pod);
  if (!isReleased) return 'pending';
  return (isFailure || end?.type === 'FailureTarget') && isCounted(job, pod) ? 'failed' : 'uncounted';
}

/** True for a pod whose failure counts: its index is one of the Job's, and no policy ignores it. */
const isCounted = (job: Job, pod: Pod): boolean =>
  hasPlace(job, pod) && matchFailurePolicy(job.spec?.podFailurePolicy, pod)?.action !== 'Ignore';
