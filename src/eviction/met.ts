import {
  addQuantities,
  compareQuantities,
  type Quantity,
  quantityOf,
  valueOf,
} from '../kube/resources/quantity.ts';
import type { Observation, Observations } from './observations.ts';
import { type PressureCondition, signalFacts } from './signals.ts';
import type { Threshold, ThresholdValue } from './thresholds.ts';

/** The amount that a value stands for; a share is counted in 32-bit precision and cut to whole units. */
export function amountOfValue(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.quantity) return value.quantity;
  const share = valueOf(capacity) * (value.percentage ?? 0);
  return quantityOf(Number.isFinite(share) ? Math.trunc(share) : 0, 'BinarySI');
}

/**
 * The thresholds that what was observed falls short of, whatever their grace period.
 *
 * @param enforceMinReclaim whether the minimum to be reclaimed must be available on top
 *
 * Follows kubelet `eviction.thresholdsMet`.
 */
export const thresholdsMet = (
  thresholds: readonly Threshold[],
  observations: Observations,
  enforceMinReclaim: boolean,
): readonly Threshold[] =>
  thresholds.filter((threshold) => {
    const observation = observations[threshold.signal];
    return observation !== undefined && isMet(threshold, observation, enforceMinReclaim);
  });

function isMet(threshold: Threshold, { available, capacity }: Observation, withReclaim: boolean): boolean {
  if (threshold.operator === undefined) return false;
  const { value, minReclaim } = threshold;
  const wanted = amountOfValue(value, capacity);
  const total =
    withReclaim && minReclaim ? addQuantities(wanted, amountOfValue(minReclaim, capacity)) : wanted;
  return compareQuantities(total, available) > 0;
}

/** Both lists, each threshold once. Follows kubelet `mergeThresholds`. */
export function mergeThresholds(a: readonly Threshold[], b: readonly Threshold[]): readonly Threshold[] {
  const merged = [...a];
  for (const threshold of b)
    if (!merged.some((each) => sameThreshold(each, threshold))) merged.push(threshold);
  return merged;
}

const sameThreshold = (a: Threshold, b: Threshold): boolean =>
  a.signal === b.signal &&
  a.operator === b.operator &&
  a.gracePeriodMs === b.gracePeriodMs &&
  sameValue(a.value, b.value);

function sameValue(a: ThresholdValue, b: ThresholdValue): boolean {
  if (a.quantity || b.quantity)
    return (
      a.quantity !== undefined && b.quantity !== undefined && compareQuantities(a.quantity, b.quantity) === 0
    );
  return (a.percentage ?? 0) === (b.percentage ?? 0);
}

/** The pressures that the thresholds stand for, each once. Follows kubelet `eviction.nodeConditions`. */
export const pressuresOf = (thresholds: readonly Threshold[]): readonly PressureCondition[] => [
  ...new Set(thresholds.map(({ signal }) => signalFacts[signal].condition)),
];

/**
 * Those that were measured anew since `last`: nobody is evicted twice for one measurement. One that does not say when it was made counts
 * as new (kubelet `thresholdsUpdatedStats`).
 */
export const measuredSince = (
  thresholds: readonly Threshold[],
  observations: Observations,
  last: Observations,
): readonly Threshold[] =>
  thresholds.filter(({ signal }) => {
    const now = observations[signal];
    const before = last[signal]?.at;
    return now !== undefined && (now.at === undefined || before === undefined || now.at > before);
  });
