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

/** What decides how much of a status may be told. */
export interface MergeContext {
  /** A container of the pod could still run, so a terminal phase has to wait (R201). */
  readonly couldHaveRunningContainers: boolean;
  /** RFC 3339 */
  readonly now: string;
}

/**
 * The status to write: the kubelet's where it is the owner, the server's elsewhere (R200…R202).
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

/** The condition is sent late, so its time is the time of sending unless the server has it already. */
function disruptionOf(old: PodStatus, next: PodStatus, now: string): PodCondition | undefined {
  const condition = conditionOf(next.conditions, 'DisruptionTarget');
  const before = conditionOf(old.conditions, 'DisruptionTarget');
  return (
    condition &&
    withTransitionTime(condition, before?.status === condition.status ? before.lastTransitionTime : now)
  );
}

/** Claims are the server's own. */
function withClaimsOf(old: PodStatus, next: PodStatus): PodStatus {
  const { resourceClaimStatuses: _claims, extendedResourceClaimStatus: _extended, ...rest } = next;
  const { resourceClaimStatuses, extendedResourceClaimStatus } = old;
  return {
    ...rest,
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  };
}

/** R201: phase, reason and message stay the server's. */
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

/** R202. */
function neverReady(pod: Pod, status: PodStatus, phase: string, now: string): PodStatus {
  if (!isConditionTrue(status, 'Ready') && !isConditionTrue(status, 'ContainersReady')) return status;
  const contained = updateCondition(status, terminalCondition(pod, 'ContainersReady', phase), now).status;
  return updateCondition(contained, terminalCondition(pod, 'Ready', phase), now).status;
}
