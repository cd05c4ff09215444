import { ownMember } from '../base/own.ts';
import { compareQuantities, zeroQuantity } from '../kube/resources/quantity.ts';
import { podRequests, qosClassOf } from '../kube/resources/resources.ts';
import type { Pod } from '../kube/types.ts';

/** A pending resize with what determines its position. */
export interface PendingResize {
  /** The desired pod. */
  readonly pod: Pod;
  /** The pod with its allocated resources. */
  readonly allocated: Pod;
  /** Since when the resize is reported as deferred, ms since the epoch; absent: not reported yet. */
  readonly since?: number;
}

/**
 * Sorts pending resizes: those without an increase first, then by priority, then guaranteed pods, then the longest waiting.
 *
 * Follows kubelet `sortPendingResizes`; equals keep their order.
 */
export const byTurn = (pending: readonly PendingResize[]): readonly PendingResize[] =>
  pending.toSorted(
    (a, b) =>
      Number(isIncreasing(a)) - Number(isIncreasing(b)) ||
      (b.pod.spec?.priority ?? 0) - (a.pod.spec?.priority ?? 0) ||
      Number(isGuaranteed(b.pod)) - Number(isGuaranteed(a.pod)) ||
      order(a.since ?? Infinity, b.since ?? Infinity),
  );

/** Subtracting equal infinities would give NaN. */
const order = (a: number, b: number): number => (a === b ? 0 : a - b);

const isGuaranteed = (pod: Pod): boolean => qosClassOf(pod) === 'Guaranteed';

/** True when the pod requests more CPU or memory than it is allocated. */
function isIncreasing({ pod, allocated }: PendingResize): boolean {
  if (pod === allocated) return false;
  const [desired, current] = [podRequests(pod), podRequests(allocated)];
  return ['cpu', 'memory'].some(
    (name) =>
      compareQuantities(ownMember(desired, name) ?? zeroQuantity, ownMember(current, name) ?? zeroQuantity) >
      0,
  );
}
