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

/** What is remembered between two passes. Instants are ms since the epoch. */
export interface EvictionState {
  /** Since when each threshold is met without a break. */
  readonly firstObservedAt: ReadonlyMap<Threshold, number>;
  /** When each pressure was last seen. */
  readonly pressureSeenAt: ReadonlyMap<PressureCondition, number>;
  /** Met beyond their grace period. */
  readonly met: readonly Threshold[];
  /** The pressures that the node reports, memory first. */
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

/** What one look at the node says. */
export interface Assessment {
  readonly state: EvictionState;
  /** What calls for action now, most pressing first. */
  readonly urgent: readonly Threshold[];
}

/** What the pass is about. */
export interface AssessmentInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** ms since the epoch */
  readonly now: number;
  /** How long a pressure is reported after it was last seen (R250). */
  readonly pressureTransitionPeriodMs: number;
}

/**
 * Weighs what was observed: which thresholds are met and for how long, which pressures the node reports, what must be acted upon.
 * A threshold once acted upon stays met until its minimum reclaim is there as well.
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

/** Memory first, else as they were found (kubelet `byEvictionPriority`). */
const byUrgency = (thresholds: readonly Threshold[]): readonly Threshold[] =>
  thresholds.toSorted((a, b) => Number(isMemorySignal(b.signal)) - Number(isMemorySignal(a.signal)));

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
