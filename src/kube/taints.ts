import type { Node, Toleration } from './types.ts';

/** A taint of a node. */
export type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number];

const sameValue = ({ operator, value }: Toleration, taint: Taint): boolean =>
  operator === 'Exists' ||
  ((operator === undefined || operator === '' || operator === 'Equal') &&
    (value ?? '') === (taint.value ?? ''));

/**
 * True when a toleration covers a taint. An absent key covers all keys, an absent effect all effects. Follows `Toleration.ToleratesTaint`.
 */
export const tolerates = (toleration: Toleration, taint: Taint): boolean =>
  (!toleration.effect || toleration.effect === taint.effect) &&
  (!toleration.key || toleration.key === taint.key) &&
  sameValue(toleration, taint);

/** Returns the first taint with one of the effects that no toleration covers. */
export const untoleratedTaint = (
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effects: readonly string[],
): Taint | undefined =>
  taints.find(
    (taint) =>
      effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
