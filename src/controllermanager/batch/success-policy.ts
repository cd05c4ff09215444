import type { Job } from '../workload/types.ts';
import { IndexSet } from './job-indexes.ts';

type Rule = NonNullable<NonNullable<Job['spec']>['successPolicy']>['rules'][number];

/** Returns the number of the first rule by which the completed indexes are a success; undefined: no rule is met. */
export function matchSuccessPolicy({ spec }: Job, completed: IndexSet): number | undefined {
  const completions = spec?.completions ?? 0;
  if (completed.size === 0) return undefined;
  const at = (spec?.successPolicy?.rules ?? []).findIndex((rule) => isMet(rule, completed, completions));
  return at < 0 ? undefined : at;
}

function isMet(
  { succeededIndexes, succeededCount = Infinity }: Rule,
  completed: IndexSet,
  completions: number,
): boolean {
  if (succeededIndexes === undefined) return completed.size >= succeededCount;
  const needed = IndexSet.parse(succeededIndexes, completions);
  if (needed.size === 0) return false;
  return needed.common(completed) >= Math.min(needed.size, succeededCount);
}
