import { isDeepStrictEqual } from 'node:util';
import { withCondition } from '../../apimachinery/conditions.ts';
import { seconds } from '../../apimachinery/times.ts';
import { systemClock } from '../../base/clock.ts';

/** Condition is one aspect of an object's state, as `metav1.Condition`. */
export interface Condition {
  /** In CamelCase, such as `Available`. There is one condition of each type. */
  type: string;
  status: 'True' | 'False' | 'Unknown';
  /** The `metadata.generation` that the condition was derived from. */
  observedGeneration?: number;
  /** When the status last changed, as RFC 3339. */
  lastTransitionTime: string;
  /** Why the condition has this status, in CamelCase. */
  reason: string;
  /** The details for people; may be empty. */
  message: string;
}

/** What a condition of any kind has: also one of a Pod, of a Deployment or of generated types. */
export interface AnyCondition {
  type: string;
  status: string;
  observedGeneration?: number;
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
}

/** A condition to set; without a time, it has changed now. */
export type NewCondition<C extends AnyCondition = Condition> = Omit<C, 'lastTransitionTime'> & {
  readonly lastTransitionTime?: string;
};

/**
 * Sets a condition in a list: in the place of the one of its type, or at the end. `lastTransitionTime` changes when the status does, to that
 * of the condition, otherwise to `now`. Returns whether anything changed, so that an unchanged status need not be written.
 *
 * After apimachinery's `meta.SetStatusCondition`.
 *
 * @param now ms since the epoch. Default: the machine's time
 *
 * @example
 * const conditions = (object.status.conditions ??= []);
 * const { generation: observedGeneration } = object.metadata;
 * setStatusCondition(conditions, { type: 'Available', status: 'True', observedGeneration, reason: 'Ready', message: '3 of 3' });
 */
export function setStatusCondition<C extends AnyCondition>(
  conditions: C[],
  condition: NewCondition<C>,
  now: number = systemClock.now(),
): boolean {
  const lastTransitionTime = condition.lastTransitionTime ?? seconds(now);
  const before = findStatusCondition(conditions, condition.type);
  const next = withCondition<C>(conditions, { ...condition, lastTransitionTime } as C);
  if (before && isDeepStrictEqual(findStatusCondition(next, condition.type), before)) return false;
  conditions.splice(0, conditions.length, ...next);
  return true;
}

/**
 * Removes the conditions of a type from a list. Returns whether there were any.
 *
 * @example
 * if (removeStatusCondition(conditions, 'Progressing')) changed = true;
 */
export function removeStatusCondition(conditions: AnyCondition[] | undefined, type: string): boolean {
  const rest = conditions?.filter((condition) => condition.type !== type) ?? [];
  if (!conditions || rest.length === conditions.length) return false;
  conditions.splice(0, conditions.length, ...rest);
  return true;
}

/**
 * Returns the condition of a type; undefined when there is none.
 *
 * @example
 * const since = findStatusCondition(object.status?.conditions, 'Available')?.lastTransitionTime;
 */
export const findStatusCondition = <C extends AnyCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

/** True when there is a condition of the type whose status is `True`. */
export const isStatusConditionTrue = (
  conditions: readonly AnyCondition[] | undefined,
  type: string,
): boolean => isStatusConditionPresentAndEqual(conditions, type, 'True');

/** True when there is a condition of the type whose status is `False`; not true when there is none. */
export const isStatusConditionFalse = (
  conditions: readonly AnyCondition[] | undefined,
  type: string,
): boolean => isStatusConditionPresentAndEqual(conditions, type, 'False');

/** True when there is a condition of the type with this status. */
export const isStatusConditionPresentAndEqual = (
  conditions: readonly AnyCondition[] | undefined,
  type: string,
  status: Condition['status'],
): boolean => findStatusCondition(conditions, type)?.status === status;
