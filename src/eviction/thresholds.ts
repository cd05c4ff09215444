import { AgentError } from '../base/errors.ts';
import { parseDuration } from '../kube/duration.ts';
import { formatQuantity, parseQuantity, type Quantity, signOfQuantity } from '../kube/resources/quantity.ts';
import { isSignal, type Signal } from './signals.ts';
import { goQuote } from '../go/go-quote.ts';

/** An amount, or a percentage of the capacity (0 to 1, 32-bit); neither counts as 0. */
export interface ThresholdValue {
  readonly quantity?: Quantity;
  readonly percentage?: number;
}

/** An eviction threshold: minimum available amount, grace period and minimum reclaim. */
export interface Threshold {
  readonly signal: Signal;
  /** Absent for a threshold that was not configured and is never met. */
  readonly operator?: 'LessThan';
  readonly value: ThresholdValue;
  /** Grace period in ms; 0: hard threshold. */
  readonly gracePeriodMs: number;
  readonly minReclaim?: ThresholdValue;
}

type Statements = Readonly<Record<string, string>>;

/** Threshold settings with the names and formats of the KubeletConfiguration. */
export interface ThresholdSettings {
  readonly enforceNodeAllocatable?: readonly string[] | null;
  readonly evictionHard?: Statements | null;
  readonly evictionSoft?: Statements | null;
  readonly evictionSoftGracePeriod?: Statements | null;
  readonly evictionMinimumReclaim?: Statements | null;
}

/**
 * Parses the thresholds: hard ones, soft ones and, where node allocatable is enforced on pods, the same hard memory
 * threshold for the pods' cgroup.
 *
 * Follows kubelet `eviction.ParseThresholdConfig`.
 *
 * @throws {AgentError} `invalid_argument` with the first error
 */
export function parseThresholds(settings: ThresholdSettings): readonly Threshold[] {
  const hard = statementsOf(settings.evictionHard);
  const softWithoutGrace = statementsOf(settings.evictionSoft);
  const graces = gracePeriodsOf(settings.evictionSoftGracePeriod);
  const reclaims = minimumReclaimsOf(settings.evictionMinimumReclaim);
  const soft = softWithoutGrace.map((threshold) => {
    const gracePeriodMs = graces.get(threshold.signal);
    if (gracePeriodMs !== undefined) return { ...threshold, gracePeriodMs };
    throw invalid(`grace period must be specified for the soft eviction threshold ${threshold.signal}`);
  });
  const all = [...hard, ...soft].map((threshold) => {
    const minReclaim = reclaims.get(threshold.signal);
    return minReclaim ? { ...threshold, minReclaim } : threshold;
  });
  return settings.enforceNodeAllocatable?.includes('pods') ? [...all, ...forAllocatable(all)] : all;
}

/** True for hard thresholds, without a grace period. */
export const isHardThreshold = ({ gracePeriodMs }: Threshold): boolean => gracePeriodMs === 0;

const forAllocatable = (thresholds: readonly Threshold[]): readonly Threshold[] =>
  thresholds
    .filter((threshold) => threshold.signal === 'memory.available' && isHardThreshold(threshold))
    .map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' }));

const invalid = (message: string): AgentError => new AgentError('invalid_argument', message);

function entriesOf(statements: Statements | null | undefined): readonly (readonly [Signal, string])[] {
  return Object.entries(statements ?? {}).map(([signal, text]) => {
    if (!isSignal(signal)) throw invalid(`unsupported eviction signal ${signal}`);
    return [signal, text];
  });
}

const statementsOf = (statements: Statements | null | undefined): readonly Threshold[] =>
  entriesOf(statements).flatMap(([signal, text]): Threshold[] => {
    // Both disable the signal.
    if (text === '0%' || text === '100%') return [];
    const value = isPercentage(text) ? share(signal, text) : amount(signal, text);
    return [{ signal, operator: 'LessThan', value, gracePeriodMs: 0 }];
  });

function share(signal: Signal, text: string): ThresholdValue {
  const percentage = parsePercentage(text);
  if (percentage < 0) throw invalid(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
  if (percentage > 1) throw invalid(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
  return { percentage };
}

function amount(signal: Signal, text: string): ThresholdValue {
  const quantity = parseQuantity(text);
  if (signOfQuantity(quantity) > 0) return { quantity };
  throw invalid(`eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`);
}

function gracePeriodsOf(statements: Statements | null | undefined): ReadonlyMap<Signal, number> {
  const found = new Map<Signal, number>();
  for (const [signal, text] of entriesOf(statements)) {
    const nanos = parseDuration(text);
    if (typeof nanos === 'string') throw invalid(nanos);
    if (nanos < 0n)
      throw invalid(`invalid eviction grace period specified: ${text}, must be a positive value`);
    found.set(signal, Number(nanos) / 1e6);
  }
  return found;
}

function minimumReclaimsOf(statements: Statements | null | undefined): ReadonlyMap<Signal, ThresholdValue> {
  return new Map(entriesOf(statements).map(([signal, text]) => [signal, minimumReclaim(signal, text)]));
}

function minimumReclaim(signal: Signal, text: string): ThresholdValue {
  if (isPercentage(text)) {
    const percentage = parsePercentage(text);
    if (percentage <= 0)
      throw invalid(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    return { percentage };
  }
  const quantity = parseQuantity(text);
  if (signOfQuantity(quantity) >= 0) return { quantity };
  throw invalid(`negative eviction minimum reclaim specified for ${signal}`);
}

/** True when a threshold or reclaim is a percentage. */
const isPercentage = (text: string): boolean => text.endsWith('%');

/**
 * Parses a percentage such as `15.5%` as a 32-bit fraction, the kubelet's precision.
 *
 * @throws {AgentError} `invalid_argument` in the words of Go's `strconv.ParseFloat`
 */
export function parsePercentage(text: string): number {
  return Math.fround(parseFloat32(text.replace(/%+$/, '')) / 100);
}

function parseFloat32(text: string): number {
  const value = special(text) ?? hexadecimal(text) ?? decimal(withoutSeparators(text), text);
  if (value === undefined) throw parseError(text, 'invalid syntax');
  const single = Math.fround(value);
  if (!Number.isFinite(single) && Number.isFinite(value)) throw parseError(text, 'value out of range');
  return single;
}

const parseError = (text: string, why: string): AgentError =>
  new AgentError('invalid_argument', `strconv.ParseFloat: parsing ${goQuote(text)}: ${why}`);

function special(text: string): number | undefined {
  if (/^nan$/i.test(text)) return Number.NaN;
  const [, sign] = /^([+-]?)inf(?:inity)?$/i.exec(text) ?? [];
  return sign === undefined ? undefined : sign === '-' ? -Infinity : Infinity;
}

/** Removes underscores between digits. */
const withoutSeparators = (text: string): string => text.replace(/(?<=[0-9])_(?=[0-9])/g, '');

function decimal(text: string, written: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw parseError(written, 'value out of range');
  return value;
}

/** Parses Go's hexadecimal floats such as `0x1.8p3`; the exponent is required. */
function hexadecimal(text: string): number | undefined {
  const parts = /^([+-]?)0x([0-9a-f_]*)(?:\.([0-9a-f_]*))?p([+-]?\d+)$/i.exec(text);
  if (!parts) return undefined;
  const [whole, fraction] = [parts[2] ?? '', parts[3] ?? ''].map((part) => part.replaceAll('_', ''));
  const digits = `${whole ?? ''}${fraction ?? ''}`;
  if (digits === '') return undefined;
  const magnitude = Number(BigInt(`0x${digits}`)) * 2 ** (Number(parts[4]) - 4 * (fraction ?? '').length);
  return parts[1] === '-' ? -magnitude : magnitude;
}
