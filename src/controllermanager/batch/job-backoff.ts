import { uidOf } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';
import { finishedAt } from './pod-finish-time.ts';

/** The first pause after a failure, and the longest, ms. */
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;

/** Failures of a Job since its last success, for the back-off. */
export interface Failures {
  readonly count: number;
  /** When the last of them was, ms. */
  readonly last: number;
  /** UIDs of the pods that count already and still exist. */
  readonly counted: ReadonlySet<string>;
}

export const noFailures: Failures = { count: 0, last: 0, counted: new Set() };

/** Returns the failures after pods have ended (`newBackoffRecord`): a success starts the count anew. */
export function failuresAfter(
  before: Failures,
  { succeeded, failed }: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] },
): Failures {
  const counted = new Set([...succeeded, ...failed].map(uidOf));
  const isNew = (pod: Pod): boolean => !before.counted.has(uidOf(pod));
  const successes = succeeded.filter(isNew).map(finishedAt);
  const times = failed.filter(isNew).map(finishedAt);
  if (successes.length === 0) {
    if (times.length === 0) return { ...before, counted };
    return { count: before.count + times.length, last: Math.max(...times), counted };
  }
  const lastSuccess = Math.max(...successes);
  const since = times.filter((time) => time > lastSuccess);
  return { count: since.length, last: Math.max(0, ...since), counted };
}

/** Returns for how long no pod is created after failures, ms. */
export const pauseAfter = (count: number, last: number, now: number): number =>
  count === 0 ? 0 : Math.max(0, last + Math.min(firstPauseMs * 2 ** (count - 1), longestPauseMs) - now);
