import type { Observations, Observation } from './observations.ts';
import { isMemorySignal, type PressureCondition, signalFacts } from './signals.ts';
import type { Threshold, ThresholdValue } from './thresholds.ts';
import {
  type Quantity,
  valueOf,
  quantityOf,
  addQuantities,
  compareQuantities,
} from '../kube/resources/quantity.ts';

/** State between two passes. Times are ms since the epoch. */
export interface EvictionState {
  /** Since when each threshold has been met without interruption. */
  readonly firstObservedAt: ReadonlyMap<Threshold, number>;
  /** When each pressure was last observed. */
  readonly pressureSeenAt: ReadonlyMap<PressureCondition, number>;
  /** Thresholds met for longer than their grace period. */
  readonly met: readonly Threshold[];
  /** Pressure conditions of the node, memory first. */
  readonly pressures: readonly PressureCondition[];
  readonly observations: Observations;
}

export const initialState: EvictionState = {
  firstObservedAt: new Map(),
  pressureSeenAt: new Map(),
  met: [],
  pressures: [],
  observations: {},
};

/** Result of assessing one set of observations. */
export interface Assessment {
  readonly state: EvictionState;
  /** Thresholds that require action now, most urgent first. */
  readonly urgent: readonly Threshold[];
}

/** Inputs of an assessment. */
export interface AssessmentInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** ms since the epoch */
  readonly now: number;
  /** How long a pressure is reported after it was last observed, ms (R250). */
  readonly pressureTransitionPeriodMs: number;
}

/**
 * Computes which thresholds are met and for how long, which pressures the node reports, and which thresholds require action.
 * After action was taken, a threshold stays met until its minimum reclaim is available as well.
 *
 * Follows the first half of kubelet `eviction.managerImpl.synchronize`.
 */
export function assess(state: EvictionState, input: AssessmentInput): Assessment {
  const { thresholds, observations, now } = input;
  const unresolved = thresholdsMet(state.met, observations, true);
  const met = mergeThresholds(thresholdsMet(thresholds, observations, false), unresolved);
  const firstObservedAt = new Map(met.map((each) => [each, state.firstObservedAt.get(each) ?? now]));
  const pressureSeenAt = new Map(state.pressureSeenAt);
  for (const pressure of pressuresOf(met)) pressureSeenAt.set(pressure, now);
  const beyondGrace = met.filter((each) => now - (firstObservedAt.get(each) ?? now) >= each.gracePeriodMs);
  return {
    state: {
      firstObservedAt,
      pressureSeenAt,
      met: beyondGrace,
      pressures: stillReported(pressureSeenAt, now, input.pressureTransitionPeriodMs),
      observations,
    },
    urgent: byUrgency(measuredSince(beyondGrace, observations, state.observations)),
  };
}

const pressureOrder: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

const stillReported = (
  seenAt: ReadonlyMap<PressureCondition, number>,
  now: number,
  periodMs: number,
): readonly PressureCondition[] =>
  pressureOrder.filter((pressure) => {
    const at = seenAt.get(pressure);
    return at !== undefined && now - at < periodMs;
  });

/** Sorts memory first; otherwise keeps the order (kubelet `byEvictionPriority`). */
const byUrgency = (thresholds: readonly Threshold[]): readonly Threshold[] =>
  thresholds.toSorted((a, b) => Number(isMemorySignal(b.signal)) - Number(isMemorySignal(a.signal)));

/** Returns the amount of a threshold value; a percentage is computed in 32-bit precision and truncated to whole units. */
export function amountOfValue(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.quantity) return value.quantity;
  const share = valueOf(capacity) * (value.percentage ?? 0);
  return quantityOf(Number.isFinite(share) ? Math.trunc(share) : 0, 'BinarySI');
}

/**
 * Returns the thresholds that the observations violate, whatever their grace period.
 *
 * @param enforceMinReclaim true: the minimum reclaim must be available in addition
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
  const required = amountOfValue(value, capacity);
  const total =
    withReclaim && minReclaim ? addQuantities(required, amountOfValue(minReclaim, capacity)) : required;
  return compareQuantities(total, available) > 0;
}

/** Returns the union of both lists. Follows kubelet `mergeThresholds`. */
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

/** Returns the pressure conditions of the thresholds, without duplicates. Follows kubelet `eviction.nodeConditions`. */
export const pressuresOf = (thresholds: readonly Threshold[]): readonly PressureCondition[] => [
  ...new Set(thresholds.map(({ signal }) => signalFacts[signal].condition)),
];

/**
 * Returns thresholds whose signal was measured since `last`, so that no measurement causes two evictions. One without a time counts
 * as new (kubelet `thresholdsUpdatedStats`).
 */
const measuredSince = (
  thresholds: readonly Threshold[],
  observations: Observations,
  last: Observations,
): readonly Threshold[] =>
  thresholds.filter(({ signal }) => {
    const now = observations[signal];
    const before = last[signal]?.at;
    return now !== undefined && (now.at === undefined || before === undefined || now.at > before);
  });
