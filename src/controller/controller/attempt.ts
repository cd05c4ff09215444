import { isAborted } from '../../base/abort.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { MetricsOfController } from '../metrics/controller-metrics.ts';
import type { Taken } from '../queue/priority-queue.ts';
import type { Cause, ReconcileContext, Reconciler, Result } from '../reconcile.ts';
import type { Request } from '../types.ts';

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

async function call(
  { request, causes }: Taken,
  { reconciler, metrics, recoverPanic, logger, random }: AttemptParts,
  signal: AbortSignal,
): Promise<Attempt> {
  const context = new Context({ signal, causes, random, logger, subject: request });
  try {
    const result = await reconciler.reconcile(request, context);
    return { outcome: { result: result ?? {} }, context };
  } catch (error) {
    if (!isPanic(error) || (isAborted(signal) && error === signal.reason))
      return { outcome: { error }, context };
    metrics.panicked();
    if (recoverPanic) return { outcome: { error: new PanicError(error) }, context };
    context.logger.error('panic in reconciler', { err: messageOf(error) });
    throw error;
  }
}

interface ContextParts {
  readonly signal: AbortSignal;
  readonly causes: readonly Cause[];
  readonly random: Random;
  readonly logger: Logger;
  readonly subject: Request;
}

/** Makes the identity and the logger of a reconcile when they are used: most reconciles write no line. */
class Context implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly causes: readonly Cause[];
  readonly #parts: ContextParts;
  #id: string | undefined;
  #logger: Logger | undefined;

  constructor(parts: ContextParts) {
    this.signal = parts.signal;
    this.causes = parts.causes;
    this.#parts = parts;
  }

  get reconcileID(): string {
    this.#id ??= this.#parts.random.uuid();
    return this.#id;
  }

  get logger(): Logger {
    const { namespace, name } = this.#parts.subject;
    this.#logger ??= this.#parts.logger.with({ namespace, name, reconcileID: this.reconcileID });
    return this.#logger;
  }
}
