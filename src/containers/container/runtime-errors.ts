import { AgentError, messageOf } from '../../base/errors.ts';

/**
 * Returns the description of a gRPC error: `rpc error: code = NotFound desc = …` without its prefix (Go `status.FromError(err).Message()`).
 */
export const descriptionOf = (reason: unknown): string =>
  messageOf(reason).replace(/^rpc error: code = \w+ desc = /, '');

/** True when the runtime answered that the requested object does not exist. */
export const isNotFound = (reason: unknown): boolean => AgentError.from(reason).code === 'not_found';

/**
 * Joins error messages as the kubelet does: a single one as it is, several in brackets, duplicates once
 * (`errors.NewAggregate`).
 */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

/**
 * Returns the status of a runtime's response; without it, a pod would seem to have lost what runs, and be created again.
 *
 * @throws {AgentError} `internal` when the status is missing
 */
export function demandStatus<T>(status: T | undefined, what: string): T {
  if (status === undefined) throw new AgentError('internal', `${what} status is nil`);
  return status;
}

/** StartError says why a container does not start; `reason` is the waiting reason in its status (R181). */
export class StartError extends AgentError {
  readonly reason: string;
  /** End of the back-off that caused the error, ms since the epoch. */
  readonly until: number | undefined;

  constructor(reason: string, message: string, options: ErrorOptions & { readonly until?: number } = {}) {
    super('internal', message, options);
    this.reason = reason;
    this.until = options.until;
  }
}
