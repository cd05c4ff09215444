import { measuredSince, mergeThresholds, pressuresOf, thresholdsMet } from './met.ts';
import type { Observations } from './observations.ts';
import { isMemorySignal, type PressureCondition } from './signals.ts';
import type { Threshold } from './thresholds.ts';

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
