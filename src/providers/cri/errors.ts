import { tableOf } from '../../base/own.ts';
import { AgentError, type ErrorCode } from '../../base/errors.ts';

/** The gRPC status codes by number: Go's name and the AgentError code. */
const codes: readonly (readonly [goName: string, code: ErrorCode])[] = [
  ['OK', 'internal'],
  ['Canceled', 'cancelled'],
  ['Unknown', 'internal'],
  ['InvalidArgument', 'invalid_argument'],
  ['DeadlineExceeded', 'deadline_exceeded'],
  ['NotFound', 'not_found'],
  ['AlreadyExists', 'already_exists'],
  ['PermissionDenied', 'permission_denied'],
  ['ResourceExhausted', 'resource_exhausted'],
  ['FailedPrecondition', 'failed_precondition'],
  ['Aborted', 'conflict'],
  ['OutOfRange', 'invalid_argument'],
  ['Unimplemented', 'unimplemented'],
  ['Internal', 'internal'],
  ['Unavailable', 'unavailable'],
  ['DataLoss', 'internal'],
  ['Unauthenticated', 'unauthenticated'],
];

const unknown = codes.findIndex(([goName]) => goName === 'Unknown');

/** A failed call as gRPC clients report it. */
export interface GrpcFailure {
  readonly code: number;
  readonly details: string;
}

export const isGrpcFailure = (reason: unknown): reason is GrpcFailure =>
  typeof reason === 'object' &&
  reason !== null &&
  typeof (reason as Partial<GrpcFailure>).code === 'number' &&
  typeof (reason as Partial<GrpcFailure>).details === 'string';

/**
 * Converts a failed call to an error with Go's text `rpc error: code = NotFound desc = …`, which users see in pod statuses and Events.
 *
 * @param endpoint path of the socket, for connection errors
 */
export function criError(reason: unknown, endpoint: string): AgentError {
  if (!isGrpcFailure(reason)) return AgentError.from(reason);
  const [goName, code] = codes[reason.code] ?? [`Code(${reason.code})`, 'internal'];
  const text = `rpc error: code = ${goName} desc = ${inGoWords(reason, endpoint)}`;
  return new AgentError(code, text, { cause: reason });
}

/**
 * Throws the error of a failed pull; without the prefix when its status code is `Unknown`, which would hide pull errors with a
 * name of their own. Follows the kubelet's CRI client (`remoteImageService.PullImage`).
 */
export function throwPullError(reason: unknown): never {
  if (reason instanceof AgentError && isGrpcFailure(reason.cause) && reason.cause.code === unknown)
    throw new AgentError(reason.code, reason.cause.details, { cause: reason });
  throw reason;
}

const dialFaults: Readonly<Record<string, string>> = tableOf({
  ENOENT: 'no such file or directory',
  ECONNREFUSED: 'connection refused',
  EACCES: 'permission denied',
});

/** Words errors of this side of the connection like a Go client; errors of the runtime stay unchanged. */
function inGoWords({ code, details }: GrpcFailure, endpoint: string): string {
  if (code === 4 && details.startsWith('Deadline exceeded')) return 'context deadline exceeded';
  if (code === 1 && details.startsWith('Cancelled on client')) return 'context canceled';
  if (code !== 14) return details;
  const [, fault] = /\bconnect (E[A-Z]+)\b/.exec(details) ?? [];
  if (fault === undefined) return details;
  const why = dialFaults[fault] ?? fault;
  return `connection error: desc = "transport: Error while dialing: dial unix ${endpoint}: connect: ${why}"`;
}
