import type { Pod, PodCondition, PodStatus } from './types.ts';

/** Why and when the node agent terminates a pod. */
export interface Termination {
  readonly message: string;
  /** ms since the epoch */
  readonly now: number;
}

/**
 * Returns the status with the condition DisruptionTarget, reason TerminationByKubelet, set. Its transition time is kept when the
 * condition was True before (R249, R251).
 *
 * Follows `podutil.UpdatePodCondition` as eviction, preemption and node shutdown call it.
 */
export function terminatedByKubelet(status: PodStatus, pod: Pod, { message, now }: Termination): PodStatus {
  const conditions = status.conditions ?? [];
  const before = conditions.findIndex(({ type }) => type === 'DisruptionTarget');
  const old = conditions[before];
  const since = old?.status === 'True' ? old.lastTransitionTime : undefined;
  const generation = pod.metadata?.generation;
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    ...(generation !== undefined && { observedGeneration: generation }),
    status: 'True',
    lastTransitionTime: since ?? new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    reason: 'TerminationByKubelet',
    message,
  };
  return { ...status, conditions: old ? conditions.with(before, condition) : [...conditions, condition] };
}
