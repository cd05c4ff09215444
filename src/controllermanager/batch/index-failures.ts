import { isActive } from '../workload/pods.ts';
import type { Job, Pod } from '../workload/types.ts';
import { pauseAfter } from './job-backoff.ts';
import { IndexSet, indexOf } from './job-indexes.ts';
import { finishedAt } from './pod-finish-time.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

/** Annotation of a pod: how many pods of its index have failed before it. */
export const failureCountAnnotation = 'batch.kubernetes.io/job-index-failure-count';
/** Annotation of a pod: how many failures of its index the policy has ignored. */
export const ignoredFailureCountAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count';

/** True for a Job whose failures count for each index apart. */
export const countsByIndex = ({ spec }: Job): boolean => spec?.backoffLimitPerIndex !== undefined;

function countIn({ metadata }: Pod, annotation: string): number {
  const text = metadata?.annotations?.[annotation] ?? '0';
  const count = /^\+?\d+$/.test(text) ? Number(text) : 0;
  return count <= 2 ** 31 - 1 ? count : 0;
}

/** Returns all failures of a pod's index before it, ignored ones too. */
const failuresBefore = (pod: Pod): number =>
  countIn(pod, failureCountAnnotation) + countIn(pod, ignoredFailureCountAnnotation);

/** True when the failure of a pod is the failure of its index. */
export function failsIndex({ spec }: Job, pod: Pod): boolean {
  const action = matchFailurePolicy(spec?.podFailurePolicy, pod)?.action;
  if (action === 'FailIndex') return true;
  return (
    action !== 'Ignore' && countIn(pod, failureCountAnnotation) >= (spec?.backoffLimitPerIndex ?? Infinity)
  );
}

/**
 * Returns the failed pods that wait for their successor, by index: until it is created they keep their finalizer, since it takes over their
 * count of failures.
 */
export function podsToSucceed(
  failed: readonly Pod[],
  pods: readonly Pod[],
  ended: IndexSet,
): ReadonlyMap<number, Pod> {
  const running = new Set(pods.filter(isActive).map(indexOf));
  const result = new Map<number, Pod>();
  for (const pod of failed) {
    const index = indexOf(pod);
    if (ended.has(index) || running.has(index)) continue;
    const other = result.get(index);
    const isLater =
      !other || (failuresBefore(other) <= failuresBefore(pod) && finishedAt(other) <= finishedAt(pod));
    if (isLater) result.set(index, pod);
  }
  return result;
}

/** Returns for how long an index gets no pod after the last one has failed, ms. */
export const pauseOfIndex = (last: Pod | undefined, now: number): number =>
  last ? pauseAfter(failuresBefore(last) + 1, finishedAt(last), now) : 0;

/** Returns the annotations of a pod that succeeds a failed one of the same index. */
export function failureAnnotations({ spec }: Job, last: Pod | undefined): Record<string, string> {
  if (!last) return { [failureCountAnnotation]: '0' };
  const isIgnored = matchFailurePolicy(spec?.podFailurePolicy, last)?.action === 'Ignore';
  const counted = countIn(last, failureCountAnnotation) + (isIgnored ? 0 : 1);
  const ignored = countIn(last, ignoredFailureCountAnnotation) + (isIgnored ? 1 : 0);
  return {
    [failureCountAnnotation]: String(counted),
    ...(ignored > 0 && { [ignoredFailureCountAnnotation]: String(ignored) }),
  };
}
