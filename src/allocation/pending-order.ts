import { ownMember } from '../base/own.ts';
import { compareQuantities, zeroQuantity } from '../kube/resources/quantity.ts';
import { podRequests, qosClassOf } from '../kube/resources/resources.ts';
import type { Pod } from '../kube/types.ts';

/** A resize that waits, and what its turn depends on. */
export interface PendingResize {
  /** As desired. */
  readonly pod: Pod;
  /** As allocated. */
  readonly allocated: Pod;
  /** Since when it is told to wait, ms since the epoch; absent: it was not told yet. */
  readonly since?: number;
}

/**
 * Whose turn comes first: who asks for no more than it has, then by priority, then guaranteed pods, then who waits longest.
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

/** Infinity less infinity is no number. */
const order = (a: number, b: number): number => (a === b ? 0 : a - b);

const isGuaranteed = (pod: Pod): boolean => qosClassOf(pod) === 'Guaranteed';

/** Does the pod ask for more CPU or memory than it has? */
function isIncreasing({ pod, allocated }: PendingResize): boolean {
  if (pod === allocated) return false;
  const [wanted, held] = [podRequests(pod), podRequests(allocated)];
  return ['cpu', 'memory'].some(
    (name) =>
      compareQuantities(ownMember(wanted, name) ?? zeroQuantity, ownMember(held, name) ?? zeroQuantity) > 0,
  );
}
