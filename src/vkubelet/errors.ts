import { AgentError, type ErrorCode } from '../base/errors.ts';

/** Why a provider's call failed, as far as the agent acts on it. */
export type FailureKind =
  | 'notFound'
  | 'invalidInput'
  | 'unavailable'
  | 'throttled'
  | 'permanent'
  | 'conflict'
  | 'notImplemented'
  | 'unknown';

/**
 * An error of a provider that says what kind it is. The kind is found through any chain of `cause`.
 *
 * @example
 * throw new ProviderError('throttled', 'too many calls', { retryAfterMs: 2000 });
 */
export class ProviderError extends AgentError {
  override readonly name: string = 'ProviderError';
  readonly kind: FailureKind;
  /** When a new try makes sense, ms from now. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, message: string, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(codes[kind], message, options);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const codes: Readonly<Record<FailureKind, ErrorCode>> = {
  notFound: 'not_found',
  invalidInput: 'invalid_argument',
  unavailable: 'unavailable',
  throttled: 'resource_exhausted',
  permanent: 'failed_precondition',
  conflict: 'conflict',
  notImplemented: 'unimplemented',
  unknown: 'internal',
};

/**
 * What was asked for is not there. After virtual-kubelet's `errdefs.ErrNotFound`.
 *
 * @example
 * throw new NotFoundError(`no such room: ${name}`);
 */
export class NotFoundError extends ProviderError {
  override readonly name: string = 'NotFoundError';

  constructor(message: string, options?: ErrorOptions) {
    super('notFound', message, options);
  }
}

/**
 * The request can never succeed as it is. After virtual-kubelet's `errdefs.ErrInvalidInput`.
 *
 * @example
 * throw new InvalidInputError('spec.containers: a room has one container');
 */
export class InvalidInputError extends ProviderError {
  override readonly name: string = 'InvalidInputError';

  constructor(message: string, options?: ErrorOptions) {
    super('invalidInput', message, options);
  }
}

/**
 * Makes a {@link NotFoundError}.
 *
 * @example
 * throw notFoundError(`no such room: ${name}`);
 */
export const notFoundError = (message: string, options?: ErrorOptions): NotFoundError =>
  new NotFoundError(message, options);

/**
 * Makes an {@link InvalidInputError}: the pod fails and is not tried again.
 *
 * @example
 * throw invalidInput('spec.containers: a room has one container');
 */
export const invalidInput = (message: string, options?: ErrorOptions): InvalidInputError =>
  new InvalidInputError(message, options);

/**
 * The backend does not answer now: the call is repeated with a growing delay, and nothing is concluded from it.
 *
 * @example
 * throw unavailable('the hotel does not answer', { cause: reason });
 */
export const unavailable = (message: string, options?: ErrorOptions): ProviderError =>
  new ProviderError('unavailable', message, options);

/**
 * The backend asks for fewer calls: the call is repeated after `retryAfterMs`.
 *
 * @example throw throttled('rate limit of the region', 30_000);
 */
export const throttled = (message: string, retryAfterMs?: number, options?: ErrorOptions): ProviderError =>
  new ProviderError('throttled', message, {
    ...options,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

/**
 * The call will never succeed: a pod that cannot be created fails with the message.
 *
 * @example
 * throw permanent('the account is closed');
 */
export const permanent = (message: string, options?: ErrorOptions): ProviderError =>
  new ProviderError('permanent', message, options);

/**
 * Something of this name is there already, or changed meanwhile: the agent looks again before it repeats the call.
 *
 * @example
 * throw conflict('the room was changed meanwhile');
 */
export const conflict = (message: string, options?: ErrorOptions): ProviderError =>
  new ProviderError('conflict', message, options);

/**
 * The provider cannot do this at all.
 *
 * @example
 * throw notImplementedError('rooms have no attach');
 */
export const notImplementedError = (message: string, options?: ErrorOptions): ProviderError =>
  new ProviderError('notImplemented', message, options);

/**
 * Wraps any error so that it counts as not found; the message stays. Nothing stays nothing.
 *
 * @example
 * return asNotFound(await call().catch((reason) => reason));
 */
export const asNotFound = <T>(reason: T): T extends undefined | null ? undefined : NotFoundError =>
  (reason == null
    ? undefined
    : new NotFoundError(AgentError.from(reason).message, { cause: reason })) as never;

/**
 * Wraps any error so that it counts as invalid input; the message stays. Nothing stays nothing.
 *
 * @example
 * return asInvalidInput(reason);
 */
export const asInvalidInput = <T>(reason: T): T extends undefined | null ? undefined : InvalidInputError =>
  (reason == null
    ? undefined
    : new InvalidInputError(AgentError.from(reason).message, { cause: reason })) as never;

/**
 * Whether the error, or any cause behind it, is of the kind not found.
 *
 * @example
 * if (isNotFound(reason)) return; // the pod is gone already
 */
export const isNotFound = (reason: unknown): boolean => failureOf(reason).kind === 'notFound';

/**
 * Whether the error, or any cause behind it, is of the kind invalid input.
 *
 * @example
 * if (isInvalidInput(reason)) await fail(pod, reason.message);
 */
export const isInvalidInput = (reason: unknown): boolean => failureOf(reason).kind === 'invalidInput';

/** What the agent makes of a failure. */
export interface Failure {
  readonly kind: FailureKind;
  /** ms from now */
  readonly retryAfterMs?: number;
}

const kinds: Readonly<Partial<Record<ErrorCode, FailureKind>>> = {
  not_found: 'notFound',
  invalid_argument: 'invalidInput',
  unavailable: 'unavailable',
  deadline_exceeded: 'unavailable',
  cancelled: 'unavailable',
  resource_exhausted: 'throttled',
  failed_precondition: 'permanent',
  already_exists: 'conflict',
  conflict: 'conflict',
  unimplemented: 'notImplemented',
};

/** How far a chain of causes is followed; some are circles. */
const mostCauses = 20;

/**
 * The kind of the first error in a chain of causes that has one: an error of this module or an {@link AgentError}, an object with a method or member
 * `notFound` or `invalidInput` that says true. `unknown` when none has.
 *
 * @example
 * const { kind, retryAfterMs } = failureOf(reason);
 */
export function failureOf(reason: unknown): Failure {
  let current = reason;
  for (let depth = 0; depth < mostCauses && current != null; depth++) {
    const found = kindOf(current);
    if (found) return found;
    current = causeOf(current);
  }
  return { kind: 'unknown' };
}

function kindOf(reason: unknown): Failure | undefined {
  if (reason instanceof ProviderError)
    return {
      kind: reason.kind,
      ...(reason.retryAfterMs !== undefined && { retryAfterMs: reason.retryAfterMs }),
    };
  if (says(reason, 'notFound')) return { kind: 'notFound' };
  if (says(reason, 'invalidInput')) return { kind: 'invalidInput' };
  if (!(reason instanceof AgentError)) return undefined;
  const kind = kinds[reason.code];
  return kind && { kind };
}

function says(reason: unknown, member: string): boolean {
  if (typeof reason !== 'object' || reason === null) return false;
  const value: unknown = (reason as Record<string, unknown>)[member];
  return value === true || (typeof value === 'function' && value.call(reason) === true);
}

/** The next error of a chain; Go's wrappers have a method. */
function causeOf(reason: unknown): unknown {
  if (typeof reason !== 'object' || reason === null) return undefined;
  const { cause } = reason as { readonly cause?: unknown };
  return typeof cause === 'function' ? (cause.call(reason) as unknown) : cause;
}
