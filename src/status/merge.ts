import type { Pod, PodCondition, PodStatus } from '../kube/types.ts';
import {
  conditionOf,
  isConditionTrue,
  isOwnCondition,
  replaceOrAppend,
  updateCondition,
  withTransitionTime,
} from './condition-list.ts';
import { terminalCondition } from './conditions.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';

/** The context of {@link mergePodStatus}. */
export interface MergeContext {
  /** True while a container of the pod may still run: a terminal phase is then held back (R201). */
  readonly couldHaveRunningContainers: boolean;
  /** The current time, RFC 3339. */
  readonly now: string;
}

/**
 * Merges the status to send: the kubelet's values in the fields that it owns, the server's elsewhere (R200…R202).
 *
 * Follows kubelet `mergePodStatus`.
 */
export function mergePodStatus(pod: Pod, old: PodStatus, next: PodStatus, context: MergeContext): PodStatus {
  const { couldHaveRunningContainers, now } = context;
  const ends = !isTerminalPhase(old.phase) && isTerminalPhase(next.phase);
  const withheld = ends && couldHaveRunningContainers;
  const disruption = ends && !couldHaveRunningContainers ? disruptionOf(old, next, now) : undefined;
  const merged: PodStatus = {
    ...(withheld ? withOutcomeOf(old, next) : withClaimsOf(old, next)),
    conditions: mergeConditions(old, next, disruption),
  };
  const { phase } = merged;
  return isTerminalPhase(phase) ? neverReady(pod, merged, phase, now) : merged;
}

function mergeConditions(
  old: PodStatus,
  next: PodStatus,
  disruption: PodCondition | undefined,
): readonly PodCondition[] {
  let merged = (old.conditions ?? []).filter(({ type }) => !isOwnCondition(type));
  next.conditions?.forEach((condition) => {
    if (isOwnCondition(condition.type)) merged.push(condition);
    else if (condition.type === disruption?.type) merged = [...replaceOrAppend(merged, disruption)];
  });
  return merged;
}

/** The DisruptionTarget condition. It is sent late, so its transition time is the time of sending unless the server has it already. */
function disruptionOf(old: PodStatus, next: PodStatus, now: string): PodCondition | undefined {
  const condition = conditionOf(next.conditions, 'DisruptionTarget');
  const before = conditionOf(old.conditions, 'DisruptionTarget');
  return (
    condition &&
    withTransitionTime(condition, before?.status === condition.status ? before.lastTransitionTime : now)
  );
}

/** Keeps the server's resource claims, which the kubelet does not write. */
function withClaimsOf(old: PodStatus, next: PodStatus): PodStatus {
  const { resourceClaimStatuses: _claims, extendedResourceClaimStatus: _extended, ...rest } = next;
  const { resourceClaimStatuses, extendedResourceClaimStatus } = old;
  return {
    ...rest,
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  };
}

/** Keeps the server's phase, reason and message (R201). */
function withOutcomeOf(old: PodStatus, next: PodStatus): PodStatus {
  const { phase: _phase, reason: _reason, message: _message, ...rest } = withClaimsOf(old, next);
  const { phase, reason, message } = old;
  return {
    ...rest,
    ...(phase !== undefined && { phase }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}

/** Sets Ready and ContainersReady of a pod in a terminal phase to False (R202). */
function neverReady(pod: Pod, status: PodStatus, phase: string, now: string): PodStatus {
  if (!isConditionTrue(status, 'Ready') && !isConditionTrue(status, 'ContainersReady')) return status;
  const contained = updateCondition(status, terminalCondition(pod, 'ContainersReady', phase), now).status;
  return updateCondition(contained, terminalCondition(pod, 'Ready', phase), now).status;
}
