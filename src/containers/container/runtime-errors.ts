import { AgentError, messageOf } from '../../base/errors.ts';

/** `rpc error: code = NotFound desc = …` reads as its description (Go `status.FromError(err).Message()`). */
export const descriptionOf = (reason: unknown): string =>
  messageOf(reason).replace(/^rpc error: code = \w+ desc = /, '');

/** Whether the runtime said that what was asked for is not there. */
export const isNotFound = (reason: unknown): boolean => AgentError.from(reason).code === 'not_found';

/**
 * Several failures in one text, as the kubelet joins them: one stands alone, more stand in brackets, equal ones once
 * (`errors.NewAggregate`).
 */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

/**
 * The status in an answer about what is there. Without it a pod would seem to have less than it has, and get it anew.
 *
 * @throws {AgentError} `internal` there is none
 */
export function demandStatus<T>(status: T | undefined, what: string): T {
  if (status === undefined) throw new AgentError('internal', `${what} status is nil`);
  return status;
}

/** Why a container does not start: `reason` is the waiting reason that users see (R181). */
export class StartError extends AgentError {
  readonly reason: string;
  /** End of the back-off behind it, ms since the epoch. */
  readonly until: number | undefined;

  constructor(reason: string, message: string, options: ErrorOptions & { readonly until?: number } = {}) {
    super('internal', message, options);
    this.reason = reason;
    this.until = options.until;
  }
}
