import type { Pod, PodCondition } from '../kube/types.ts';
import { conditionOf } from './condition-list.ts';

/** Where the in-place resize of one pod stands. */
export interface ResizeConditions {
  readonly pending?: PodCondition | undefined;
  readonly inProgress?: PodCondition | undefined;
}

/** What is said of a resize. */
export interface ResizeReport {
  readonly reason: string;
  readonly message: string;
  /** The pod's generation that was looked at. */
  readonly observedGeneration: number;
}

/** The conditions in the order of the status. */
export const resizeConditionList = ({ pending, inProgress }: ResizeConditions): readonly PodCondition[] => [
  ...(pending ? [pending] : []),
  ...(inProgress ? [inProgress] : []),
];

/** Why a resize waits: it never fits this node, or not now. */
export const pendingReason = (reason: string): string =>
  reason === 'Infeasible' ? 'Infeasible' : 'Deferred';

/** The condition of a resize that waits. Follows kubelet `SetPodResizePendingCondition`. */
export const pendingCondition = (
  old: PodCondition | undefined,
  report: ResizeReport,
  now: string,
): PodCondition => conditionFor('PodResizePending', old, report, now);

/**
 * The condition of a resize that is carried out. A bare report keeps what an earlier one said, and the generation stays that of the
 * beginning.
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

/** Does a waiting resize tell something new? Its message does not count. */
export const pendingChanged = (old: PodCondition | undefined, next: PodCondition): boolean =>
  old?.reason !== next.reason || (old?.observedGeneration ?? 0) !== (next.observedGeneration ?? 0);

/** Does a resize in progress tell something new? */
export const inProgressChanged = (old: PodCondition | undefined, next: PodCondition): boolean =>
  !old || old.reason !== next.reason || old.message !== next.message;

/** What the API remembers of a pod's resize, for an agent that has just started. */
export const resizeConditionsOf = ({ status }: Pod): ResizeConditions => ({
  pending: conditionOf(status?.conditions, 'PodResizePending'),
  inProgress: conditionOf(status?.conditions, 'PodResizeInProgress'),
});

/** What a condition of the API tells. */
export const reportOf = ({
  reason = '',
  message = '',
  observedGeneration = 0,
}: PodCondition): ResizeReport => ({
  reason,
  message,
  observedGeneration,
});
