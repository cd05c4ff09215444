import { seconds } from '../../apimachinery/times.ts';
import type { Condition, Job } from '../workload/types.ts';

export const conditionOf = ({ status }: Job, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type && one.status === 'True');

/** True once the Job is complete or has failed. */
export const isFinished = (job: Job): boolean =>
  conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined;

/** Returns the conditions with one set (`ensureJobConditionStatus`); one that is false is not added. */
export function withJobCondition(
  conditions: readonly Condition[],
  set: Required<Pick<Condition, 'type' | 'status' | 'reason' | 'message'>>,
  now: number,
): readonly Condition[] {
  const at = conditions.findIndex(({ type }) => type === set.type);
  const before = conditions[at];
  if (!before && set.status === 'False') return conditions;
  if (before?.status === set.status && before.reason === set.reason && before.message === set.message)
    return conditions;
  const time = seconds(now);
  return conditions
    .toSpliced(at < 0 ? conditions.length : at, 1)
    .toSpliced(at < 0 ? conditions.length : at, 0, { ...set, lastProbeTime: time, lastTransitionTime: time });
}
