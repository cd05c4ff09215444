import { isAborted } from '../../base/abort.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { MetricsOfController } from '../metrics/controller-metrics.ts';
import type { Taken } from '../queue/priority-queue.ts';
import type { Cause, ReconcileContext, Reconciler, Result } from '../reconcile.ts';

/** A panic that was recovered; `cause` is the programming error. */
export class PanicError extends Error {
  override readonly name = 'PanicError';

  constructor(cause: unknown) {
    super(`panic: ${messageOf(cause)} [recovered]`, { cause });
  }
}

/** True for what only a fault in the program throws, where Go would panic; `fetch` reports a failed call as a TypeError with a cause. */
export const isPanic = (reason: unknown): boolean =>
  !(reason instanceof Error) ||
  (reason instanceof TypeError && reason.cause === undefined) ||
  reason instanceof ReferenceError ||
  reason instanceof RangeError;

/** How a reconcile ended. */
export interface Attempt {
  readonly outcome: { readonly result: Result } | { readonly error: unknown };
  readonly context: ReconcileContext;
}

/** What the reconciles of one controller need. */
export interface AttemptParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly reconciler: Reconciler;
  readonly metrics: MetricsOfController;
  readonly recoverPanic: boolean;
  /** 0 for no limit, ms. */
  readonly timeoutMs: number;
}

/** Calls the reconciler once. @throws a panic that is not to be recovered */
export function attempt(item: Taken, parts: AttemptParts, signal: AbortSignal): Promise<Attempt> {
  return parts.timeoutMs > 0 ? withinTimeout(item, parts, signal) : call(item, parts, signal);
}

async function withinTimeout(item: Taken, parts: AttemptParts, signal: AbortSignal): Promise<Attempt> {
  const { timeoutMs, clock, metrics } = parts;
  const late = new AbortController();
  const stopTimer = clock.timer(timeoutMs, () => {
    metrics.timedOut();
    late.abort(new AgentError('deadline_exceeded', `the reconciliation took longer than ${timeoutMs} ms`));
  });
  try {
    return await call(item, parts, AbortSignal.any([signal, late.signal]));
  } finally {
    stopTimer();
  }
}

async function call(item: Taken, parts: AttemptParts, signal: AbortSignal): Promise<Attempt> {
  const context = new Context(item, parts, signal);
  try {
    const result = await parts.reconciler.reconcile(item.request, context);
    return { outcome: { result: result ?? noResult }, context };
  } catch (error) {
    const { metrics, recoverPanic } = parts;
    if (!isPanic(error) || (isAborted(signal) && error === signal.reason))
      return { outcome: { error }, context };
    metrics.panicked();
    if (recoverPanic) return { outcome: { error: new PanicError(error) }, context };
    context.logger.error('panic in reconciler', { err: messageOf(error) });
    throw error;
  }
}

const noResult: Result = {};

/** Makes what a reconcile asks for when it asks: most write no line, and look at no cause. */
class Context implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly #item: Taken;
  readonly #parts: Pick<AttemptParts, 'random' | 'logger'>;
  #id: string | undefined;
  #logger: Logger | undefined;
  #causes: readonly Cause[] | undefined;

  constructor(item: Taken, parts: Pick<AttemptParts, 'random' | 'logger'>, signal: AbortSignal) {
    this.signal = signal;
    this.#item = item;
    this.#parts = parts;
  }

  get causes(): readonly Cause[] {
    this.#causes ??= this.#item.causes;
    return this.#causes;
  }

  get reconcileID(): string {
    this.#id ??= this.#parts.random.uuid();
    return this.#id;
  }

  get logger(): Logger {
    const { namespace, name } = this.#item.request;
    this.#logger ??= this.#parts.logger.with({ namespace, name, reconcileID: this.reconcileID });
    return this.#logger;
  }
}
