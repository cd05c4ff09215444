import { ApiError } from '../../api/client.ts';

/** The reasons whose meaning is known: with one of them the HTTP status says nothing more. */
const knownReasons: ReadonlySet<string> = new Set([
  ...[
    'Unauthorized',
    'Forbidden',
    'NotFound',
    'AlreadyExists',
    'Conflict',
    'Gone',
    'Invalid',
    'ServerTimeout',
  ],
  ...['StorageReadError', 'Timeout', 'TooManyRequests', 'BadRequest', 'MethodNotAllowed', 'NotAcceptable'],
  ...['RequestEntityTooLarge', 'UnsupportedMediaType', 'InternalError', 'Expired', 'ServiceUnavailable'],
]);

/**
 * Returns the error of the API server that `error` is, or that it has as a cause, or as its cause's cause; undefined when there is none.
 *
 * @example
 * const delay = apiErrorIn(error)?.retryAfterMs ?? 1_000;
 */
export function apiErrorIn(error: unknown): ApiError | undefined {
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    if (at instanceof ApiError) return at;
    seen.add(at);
  }
  return undefined;
}

/**
 * Returns the reason of an error of the API server, such as `NotFound`; `''` when it has none, or is another error.
 *
 * @example
 * logger.warn('not created', { reason: reasonForError(error) });
 */
export const reasonForError = (error: unknown): string => apiErrorIn(error)?.reason ?? '';

/** Returns a predicate for errors with a reason; of errors without a known reason, for those with the HTTP status. */
function isError(reason: string, status?: number): (error: unknown) => boolean {
  return (error) => {
    const found = apiErrorIn(error);
    if (!found) return false;
    return found.reason === reason || (found.status === status && !knownReasons.has(found.reason));
  };
}

/** True when the object does not exist, or its kind is not served. */
export const isNotFound: (error: unknown) => boolean = isError('NotFound', 404);
/** True when an object of this name exists already. */
export const isAlreadyExists: (error: unknown) => boolean = isError('AlreadyExists');
/** True when the object is newer than the one that was sent: read it again, and repeat the change. */
export const isConflict: (error: unknown) => boolean = isError('Conflict', 409);
/** True when validation refuses the object. */
export const isInvalid: (error: unknown) => boolean = isError('Invalid', 422);
/** True when the server no longer has the resource, and names no new address. */
export const isGone: (error: unknown) => boolean = isError('Gone', 410);
/** True when the resource version, or the token of a list, is older than what the server remembers: list again. */
export const isResourceExpired: (error: unknown) => boolean = isError('Expired');
/** True when the server supports none of the media types in the `Accept` header. */
export const isNotAcceptable: (error: unknown) => boolean = isError('NotAcceptable', 406);
/** True when the server does not understand the format of the request, e.g. a type of patch. */
export const isUnsupportedMediaType: (error: unknown) => boolean = isError('UnsupportedMediaType', 415);
/** True when the kind does not support the verb. */
export const isMethodNotSupported: (error: unknown) => boolean = isError('MethodNotAllowed', 405);
/** True when the server cannot answer at present. */
export const isServiceUnavailable: (error: unknown) => boolean = isError('ServiceUnavailable', 503);
/** True when the server does not understand the request. */
export const isBadRequest: (error: unknown) => boolean = isError('BadRequest', 400);
/** True when the request has no valid credentials. */
export const isUnauthorized: (error: unknown) => boolean = isError('Unauthorized', 401);
/** True when the user may not do this, or a quota or a policy forbids it. */
export const isForbidden: (error: unknown) => boolean = isError('Forbidden', 403);
/** True when the server gave up a request that took too long. It may have been carried out. */
export const isTimeout: (error: unknown) => boolean = isError('Timeout', 504);
/** True when the server could not finish in time and asks to repeat the request. */
export const isServerTimeout: (error: unknown) => boolean = isError('ServerTimeout');
/** True when the server failed. */
export const isInternalError: (error: unknown) => boolean = isError('InternalError', 500);

/** True when the server has too many requests, whatever the reason: wait as {@link suggestsClientDelay} says. */
export const isTooManyRequests = (error: unknown): boolean =>
  reasonForError(error) === 'TooManyRequests' || apiErrorIn(error)?.status === 429;

/** True when the request is larger than the server takes. */
export const isRequestEntityTooLarge = (error: unknown): boolean =>
  reasonForError(error) === 'RequestEntityTooLarge' || apiErrorIn(error)?.status === 413;

/**
 * True when the server names this cause, e.g. `NamespaceTerminating` for a new object in a namespace that is being deleted.
 *
 * @example
 * if (hasStatusCause(error, 'NamespaceTerminating')) return;
 */
export const hasStatusCause = (error: unknown, cause: string): boolean =>
  (apiErrorIn(error)?.details?.causes ?? []).some(({ reason }) => reason === cause);

/**
 * Returns the time after which the server asks to repeat the request, ms; undefined when it does not ask. It does not say whether the
 * request should be repeated.
 *
 * @example
 * const after = suggestsClientDelay(error);
 * if (after !== undefined) return { requeueAfter: after };
 */
export function suggestsClientDelay(error: unknown): number | undefined {
  const found = apiErrorIn(error);
  return found?.retryAfterMs ?? (found?.reason === 'ServerTimeout' ? 0 : undefined);
}

/**
 * Ignores that an object does not exist (404) and rethrows anything else.
 *
 * @example
 * const pod = await client.get(kinds.Pod, key).catch(ignoreNotFound);
 */
export function ignoreNotFound(error: unknown): undefined {
  if (error !== undefined && error !== null && !isNotFound(error)) throw error as Error;
  return undefined;
}

/**
 * Ignores that an object exists already (409, `AlreadyExists`) and rethrows anything else.
 *
 * @example
 * await client.create(kinds.Namespace, namespace).catch(ignoreAlreadyExists);
 */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (error !== undefined && error !== null && !isAlreadyExists(error)) throw error as Error;
  return undefined;
}
