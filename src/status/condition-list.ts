import type { PodCondition, PodStatus } from '../kube/types.ts';

const ownConditions: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
]);

/** True for condition types that only the kubelet writes (R200). Follows `PodConditionByKubelet`. */
export const isOwnCondition = (type: string): boolean => ownConditions.has(type);

/** True for condition types that the kubelet shares with other writers (R200). Follows `PodConditionSharedByKubelet`. */
export const isSharedCondition = (type: string): boolean => type === 'DisruptionTarget';

/** The condition of a type, if there is one. */
export const conditionOf = (
  conditions: readonly PodCondition[] | undefined,
  type: string,
): PodCondition | undefined => conditions?.find((condition) => condition.type === type);

export const isConditionTrue = (status: PodStatus, type: string): boolean =>
  conditionOf(status.conditions, type)?.status === 'True';

/** Returns the list with `condition` in place of the one of the same type, or at the end when there is none. */
export function replaceOrAppend(
  conditions: readonly PodCondition[],
  condition: PodCondition,
): readonly PodCondition[] {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  return at < 0 ? [...conditions, condition] : conditions.with(at, condition);
}

/** The status with the condition set, and whether the condition changed. */
export interface ConditionUpdate {
  readonly status: PodStatus;
  readonly changed: boolean;
}

/**
 * Sets a condition; its transition time becomes `now` (RFC 3339) only when its status changed (R197).
 *
 * Follows `podutil.UpdatePodCondition`.
 */
export function updateCondition(status: PodStatus, condition: PodCondition, now: string): ConditionUpdate {
  const old = conditionOf(status.conditions, condition.type);
  const at = old?.status === condition.status ? old.lastTransitionTime : now;
  const next = withTransitionTime(condition, at);
  const changed = !old || !sameCondition(old, next);
  return { status: { ...status, conditions: replaceOrAppend(status.conditions ?? [], next) }, changed };
}

const comparedFields = ['status', 'reason', 'message', 'lastProbeTime', 'lastTransitionTime'] as const;

const sameCondition = (a: PodCondition, b: PodCondition): boolean =>
  comparedFields.every((field) => (a[field] ?? '') === (b[field] ?? ''));

/** The condition with another transition time; the same object when it has that time already. */
export function withTransitionTime(condition: PodCondition, at: string | null | undefined): PodCondition {
  if ((condition.lastTransitionTime ?? undefined) === (at ?? undefined)) return condition;
  if (at != null) return { ...condition, lastTransitionTime: at };
  const { lastTransitionTime: _, ...rest } = condition;
  return rest;
}
