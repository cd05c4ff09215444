import type { Logger } from '../base/logger.ts';
import type { Request } from './types.ts';

/** What to do after a successful reconcile. */
export interface Result {
  /** Runs the request again after its back-off. `requeueAfter` takes precedence. */
  readonly requeue?: boolean;
  /** Runs the request again after this time, ms, and forgets its back-off. */
  readonly requeueAfter?: number;
  /** The priority of the request when it is queued again. Default: the priority it had. */
  readonly priority?: number;
}

/** Reconciler brings the world to the state that an object asks for. It is called with the object's name only: read the rest. */
export interface Reconciler {
  /**
   * An error queues the request again after its back-off, a {@link TerminalError} does not.
   *
   * @param request the object; it may not exist any more
   */
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a reconciler that returns nothing has a `Promise<void>`
  reconcile(request: Request, context: ReconcileContext): Promise<Result | void>;
}

/** ReconcileContext comes with each reconcile. */
export interface ReconcileContext {
  /** Aborts when the controller stops, leadership is lost or the reconciliation time-out passes. Pass it to every call. */
  readonly signal: AbortSignal;
  /** Adds `controller`, `controllerGroup`, `controllerKind`, `namespace`, `name` and `reconcileID` to each line. */
  readonly logger: Logger;
  /** Identifies this reconcile in the logs; a UUID. */
  readonly reconcileID: string;
  /** Why this reconcile runs: what asked for it since the last one, oldest first; of more than 32 the newest. */
  readonly causes: readonly Cause[];
}

/** Cause is one reason for a reconcile. */
export interface Cause {
  readonly type: 'create' | 'update' | 'delete' | 'generic' | 'requeue' | 'retry' | 'resync';
  /** The source of the event, e.g. `kind source: apps/v1, Kind=ReplicaSet`, or the controller's name. */
  readonly source: string;
  /** The object that the event was about; it need not be the one that is reconciled. */
  readonly object?: {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion?: string;
  };
  /** ms since the epoch */
  readonly at: number;
}

/**
 * TerminalError is an error that a repetition cannot repair: it is logged and counted, and the request is not queued again.
 *
 * @example
 * throw new TerminalError('spec.schedule is not a cron expression');
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';

  /** @param reason a text, or the error to wrap */
  constructor(reason: unknown, options?: ErrorOptions) {
    super(
      reason instanceof Error ? `terminal error: ${reason.message}` : `terminal error: ${String(reason)}`,
      {
        ...(reason instanceof Error && { cause: reason }),
        ...options,
      },
    );
  }
}

/**
 * True for a {@link TerminalError}, also when it is the cause or a part of another error.
 *
 * @example
 * if (isTerminalError(reason)) return; // not retried
 */
export function isTerminalError(reason: unknown): boolean {
  const seen = new Set<unknown>();
  const visit = (error: unknown): boolean => {
    if (!(error instanceof Error) || seen.has(error)) return false;
    seen.add(error);
    if (error instanceof TerminalError) return true;
    if (error instanceof AggregateError && error.errors.some(visit)) return true;
    return visit(error.cause);
  };
  return visit(reason);
}
