import { messageOf } from '../base/errors.ts';

/** The delays until a pod is synced again, ms. */
export interface RequeueOptions {
  /** After success: kubelet SyncFrequency. */
  readonly resyncMs: number;
  /** After an error: kubelet `backOffPeriod`. */
  readonly backoffMs: number;
  /** After a transient error, such as a network that is not ready yet: kubelet `backOffOnTransientErrorPeriod`. */
  readonly transientMs: number;
}

export const requeueDefaults: RequeueOptions = { resyncMs: 60_000, backoffMs: 10_000, transientMs: 1000 };

/** Each delay is extended by a random fraction of itself, up to this one. */
export const requeueJitter = 0.5;

/** The text that marks an error as caused by a network that is not ready. */
export const networkNotReady = 'network is not ready';

/** The end of a step. */
export interface StepEnd {
  /** True when the step moved the pod to its next phase. */
  readonly transitioned: boolean;
  readonly error?: unknown;
}

/**
 * Computes the delay until the next sync, before jitter: 0 after a transition, the resync period after success, the transient period when
 * the network is not ready, else until the earliest `backOffUntil` of the errors, else the ordinary back-off (R117).
 *
 * Follows kubelet `completeWork`.
 */
export function requeueDelay(end: StepEnd, options: RequeueOptions, now: number): number {
  if (end.transitioned) return 0;
  if (end.error === undefined) return options.resyncMs;
  const errors = [...causesOf(end.error)];
  if (errors.some((error) => messageOf(error).includes(networkNotReady))) return options.transientMs;
  const ends = errors.map(backOffUntil).filter((until) => until !== undefined);
  if (ends.length === 0) return options.backoffMs;
  return Math.min(Math.max(Math.min(...ends) - now, 0), options.resyncMs);
}

/** The `backOffUntil` of an error, ms since the epoch, if it has one. */
function backOffUntil(error: unknown): number | undefined {
  const until = typeof error === 'object' && error !== null && 'backOffUntil' in error && error.backOffUntil;
  return typeof until === 'number' ? until : undefined;
}

/** The error, what it wraps (`cause`) and what it gathers (`AggregateError.errors`), each once. */
function causesOf(error: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (error === undefined || error === null || found.has(error)) return found;
  found.add(error);
  if (error instanceof Error) causesOf(error.cause, found);
  if (error instanceof AggregateError) for (const member of error.errors) causesOf(member, found);
  return found;
}
