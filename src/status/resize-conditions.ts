import type { Pod, PodCondition } from '../kube/types.ts';
import { conditionOf } from './condition-list.ts';

/** The conditions of the in-place resize of one pod. */
export interface ResizeConditions {
  readonly pending?: PodCondition | undefined;
  readonly inProgress?: PodCondition | undefined;
}

/** The reason, message and generation of a resize condition. */
export interface ResizeReport {
  readonly reason: string;
  readonly message: string;
  /** The observed generation of the pod. */
  readonly observedGeneration: number;
}

/** The resize conditions in the order in which the status lists them. */
export const resizeConditionList = ({ pending, inProgress }: ResizeConditions): readonly PodCondition[] => [
  ...(pending ? [pending] : []),
  ...(inProgress ? [inProgress] : []),
];

/** The reason of a pending resize: `Infeasible` when it can never fit this node, else `Deferred`. */
export const pendingReason = (reason: string): string =>
  reason === 'Infeasible' ? 'Infeasible' : 'Deferred';

/** The condition of a pending resize. Follows kubelet `SetPodResizePendingCondition`. */
export const pendingCondition = (
  old: PodCondition | undefined,
  report: ResizeReport,
  now: string,
): PodCondition => conditionFor('PodResizePending', old, report, now);

/**
 * The condition of a resize in progress. A report without reason and message keeps those of the earlier condition, and the generation stays
 * the one at which the resize began.
 *
 * Follows kubelet `SetPodResizeInProgressCondition`.
 */
export function inProgressCondition(
  old: PodCondition | undefined,
  report: ResizeReport,
  now: string,
): PodCondition {
  const type = 'PodResizeInProgress';
  if (!old) return conditionFor(type, old, report, now);
  const observedGeneration = old.observedGeneration ?? 0;
  const { reason = '', message = '' } = report.reason || report.message ? report : old;
  return conditionFor(type, old, { reason, message, observedGeneration }, now);
}

function conditionFor(
  type: 'PodResizePending' | 'PodResizeInProgress',
  old: PodCondition | undefined,
  { reason, message, observedGeneration }: ResizeReport,
  now: string,
): PodCondition {
  const goesOn = old !== undefined && (old.reason ?? '') === reason;
  return {
    type,
    ...(observedGeneration && { observedGeneration }),
    status: 'True',
    ...(reason && { reason }),
    ...(message && { message }),
    lastProbeTime: now,
    lastTransitionTime: goesOn ? (old.lastTransitionTime ?? now) : now,
  };
}

/** True when the condition of a pending resize changed; its message is ignored. */
export const pendingChanged = (old: PodCondition | undefined, next: PodCondition): boolean =>
  old?.reason !== next.reason || (old?.observedGeneration ?? 0) !== (next.observedGeneration ?? 0);

/** True when the condition of a resize in progress changed. */
export const inProgressChanged = (old: PodCondition | undefined, next: PodCondition): boolean =>
  !old || old.reason !== next.reason || old.message !== next.message;

/** The resize conditions in the API, for an agent that has just started. */
export const resizeConditionsOf = ({ status }: Pod): ResizeConditions => ({
  pending: conditionOf(status?.conditions, 'PodResizePending'),
  inProgress: conditionOf(status?.conditions, 'PodResizeInProgress'),
});

/** The report that a condition in the API holds. */
export const reportOf = ({
  reason = '',
  message = '',
  observedGeneration = 0,
}: PodCondition): ResizeReport => ({
  reason,
  message,
  observedGeneration,
});
