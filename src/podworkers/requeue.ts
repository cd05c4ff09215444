import { messageOf } from '../base/errors.ts';

/** How long until a pod is looked at again, ms. */
export interface RequeueOptions {
  /** After success: kubelet SyncFrequency. */
  readonly resyncMs: number;
  /** After an error: kubelet `backOffPeriod`. */
  readonly backoffMs: number;
  /** After an error that passes soon, as a network that is not ready yet: kubelet `backOffOnTransientErrorPeriod`. */
  readonly transientMs: number;
}

export const requeueDefaults: RequeueOptions = { resyncMs: 60_000, backoffMs: 10_000, transientMs: 1000 };

/** Delays are made longer by a random part of up to this much of themselves. */
export const requeueJitter = 0.5;

/** The text by which an error says that the network is not ready. */
export const networkNotReady = 'network is not ready';

/** How a step went. */
export interface StepEnd {
  /** It brought the pod into its next phase. */
  readonly transitioned: boolean;
  readonly error?: unknown;
}

/**
 * R117: the delay before jitter. A transition wins over everything; a network that is not ready over a back-off's own end; that over the
 * ordinary back-off.
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

/** ms since the epoch, from errors that know when it makes sense to try again (`backOffUntil`). */
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
