import type { Pod, PodCondition, PodStatus } from './types.ts';

/** Why and when the node agent terminates a pod. */
export interface Termination {
  readonly message: string;
  /** ms since the epoch */
  readonly now: number;
}

/** Why a pod is disrupted, and when. */
export interface Disruption extends Termination {
  readonly reason: string;
}

/** Returns the condition DisruptionTarget of a pod. Its transition time is kept when the condition was True before (R249). */
export function disruptionTarget(pod: Pod, { reason, message, now }: Disruption): PodCondition {
  const old = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const since = old?.status === 'True' ? old.lastTransitionTime : undefined;
  const generation = pod.metadata?.generation;
  return {
    type: 'DisruptionTarget',
    ...(generation !== undefined && { observedGeneration: generation }),
    status: 'True',
    lastTransitionTime: since ?? new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    reason,
    message,
  };
}

/**
 * Returns the status with the condition DisruptionTarget, reason TerminationByKubelet, set (R249, R251).
 *
 * Follows `podutil.UpdatePodCondition` as eviction, preemption and node shutdown call it.
 */
export function terminatedByKubelet(status: PodStatus, pod: Pod, termination: Termination): PodStatus {
  const conditions = status.conditions ?? [];
  const before = conditions.findIndex(({ type }) => type === 'DisruptionTarget');
  const condition = disruptionTarget({ ...pod, status }, { ...termination, reason: 'TerminationByKubelet' });
  return {
    ...status,
    conditions: before < 0 ? [...conditions, condition] : conditions.with(before, condition),
  };
}
