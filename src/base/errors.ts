import { systemFault } from './system-fault.ts';

/** Why a call failed, with the names of gRPC and of containerd's errdefs. */
export type ErrorCode =
  | 'not_found'
  | 'invalid_argument'
  | 'already_exists'
  | 'conflict'
  | 'permission_denied'
  | 'unauthenticated'
  | 'failed_precondition'
  | 'resource_exhausted'
  | 'cancelled'
  | 'unimplemented'
  | 'unavailable'
  | 'deadline_exceeded'
  | 'internal';

/** How a caller should react to each code: `retry` with back-off, or `give_up`. */
export const disposition: Readonly<Record<ErrorCode, 'retry' | 'give_up'>> = {
  not_found: 'give_up',
  invalid_argument: 'give_up',
  already_exists: 'give_up',
  conflict: 'retry',
  permission_denied: 'give_up',
  unauthenticated: 'give_up',
  failed_precondition: 'give_up',
  resource_exhausted: 'retry',
  cancelled: 'give_up',
  unimplemented: 'give_up',
  unavailable: 'retry',
  deadline_exceeded: 'retry',
  internal: 'retry',
};

/**
 * AgentError is the only error class that crosses module boundaries. `message` says what failed and `cause` holds the reason.
 *
 * @example
 * throw new AgentError('unavailable', 'the queue does not answer');
 */
export class AgentError extends Error {
  override readonly name: string = 'AgentError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Converts any thrown value; returns an AgentError unchanged. */
  static from(reason: unknown, code: ErrorCode = 'internal'): AgentError {
    if (reason instanceof AgentError) return reason;
    return new AgentError(code, messageOf(reason), { cause: reason });
  }
}

/** The text of any thrown value. System errors of files and programs have Go's wording: {@link systemFault}. */
export function messageOf(reason: unknown): string {
  return reason instanceof Error ? (systemFault(reason) ?? reason.message) : String(reason);
}
