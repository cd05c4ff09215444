import type { Threshold, ThresholdValue } from '../../../src/eviction/thresholds.ts';
import { isSignal } from '../../../src/eviction/signals.ts';
import { formatQuantity, parseQuantity } from '../../../src/kube/resources/quantity.ts';

/** A threshold's value as recordings write it. */
interface RecordedValue {
  readonly quantity?: string;
  readonly percentage?: number;
}

/** A threshold as recordings write it. */
export interface RecordedThreshold {
  readonly signal: string;
  readonly operator: string;
  readonly value: RecordedValue;
  readonly gracePeriodSeconds: number;
  readonly minReclaim?: RecordedValue;
}

const valueFrom = ({ quantity, percentage }: RecordedValue): ThresholdValue => ({
  ...(quantity !== undefined && { quantity: parseQuantity(quantity) }),
  ...(percentage !== undefined && { percentage: Math.fround(percentage) }),
});

export function thresholdFrom(recorded: RecordedThreshold): Threshold {
  const { signal, operator, value, gracePeriodSeconds, minReclaim } = recorded;
  if (!isSignal(signal)) throw new Error(`unknown signal ${signal}`);
  return {
    signal,
    ...(operator === 'LessThan' && { operator }),
    value: valueFrom(value),
    gracePeriodMs: gracePeriodSeconds * 1000,
    ...(minReclaim && { minReclaim: valueFrom(minReclaim) }),
  };
}

/** The same form of both sides: percentages at 32 bits, quantities as text. */
const viewOf = (value: ThresholdValue): object => ({
  ...value,
  ...(value.quantity && { quantity: formatQuantity(value.quantity) }),
});

/** Thresholds, ready to be compared. */
export const thresholdViews = (thresholds: readonly Threshold[], sorted = false): readonly object[] => {
  const views = thresholds.map((threshold) => ({
    ...threshold,
    value: viewOf(threshold.value),
    ...(threshold.minReclaim && { minReclaim: viewOf(threshold.minReclaim) }),
  }));
  return sorted ? views.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) : views;
};

const keyOf = ({ signal, gracePeriodMs, value, minReclaim, operator }: Record<string, unknown>): string =>
  JSON.stringify([signal, operator, gracePeriodMs, value, minReclaim]);

export const recordedViews = (
  recorded: readonly RecordedThreshold[] | null | undefined,
  sorted = false,
): readonly object[] => thresholdViews((recorded ?? []).map(thresholdFrom), sorted);
