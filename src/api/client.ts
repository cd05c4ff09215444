import { AgentError, type ErrorCode, messageOf } from '../base/errors.ts';
import type { KubeList, KubeObject, Status } from '../kube/types.ts';
import type { KnownObjects } from './cache/known-objects.ts';
import type { Resource } from './resources.ts';

/** Identifies an object; `namespace` only for namespaced kinds. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

/** Options of every call. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Deadline of this call, ms. */
  readonly timeoutMs?: number;
  /** e.g. `status`, `binding`, `token` */
  readonly subresource?: string;
  /** Reads metadata only: objects have `apiVersion`, `kind` and `metadata`. Only for get, list and watch. */
  readonly metadataOnly?: boolean;
}

/** Options of calls whose response is an object that a watch will also deliver. */
export interface WithKnown {
  /** A response with a version in here is not parsed: that version is returned. Other objects are recorded here. */
  readonly knownObjects?: KnownObjects;
}

/** Options of calls that write. */
export interface WriteOptions extends RequestOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

export interface ListOptions extends RequestOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  readonly limit?: number;
  readonly continue?: string;
}

export interface WatchOptions extends ListOptions {
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  /** Timeout after which the server ends the watch. */
  readonly timeoutSeconds?: number;
  /** Events with versions in here are not parsed. */
  readonly knownObjects?: KnownObjects;
  /** Called when the server has accepted the watch, before its first event. */
  readonly onOpen?: () => void;
}

export interface DeleteOptions extends WriteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  /** A success response is not parsed: the call resolves to an empty object. */
  readonly discardAnswer?: boolean;
}

/** What to delete, and how. */
export interface DeleteCollectionOptions extends Omit<DeleteOptions, 'subresource'> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** A patch and its type. `text` is sent unchanged. */
export interface Patch {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply';
  readonly body: object | string;
  /** Only with `apply`: take over fields of other managers. */
  readonly force?: boolean;
}

export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }
  | { readonly type: 'ERROR'; readonly object: Status };

/**
 * ApiClient is the only access to the API server in the agent. Objects are plain JSON and are returned as the server sent them, including
 * unknown fields.
 *
 * @throws {ApiError} with the server's status and reason; `unavailable` when the server could not be reached
 */
export interface ApiClient {
  get<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    options?: RequestOptions & WithKnown & { readonly resourceVersion?: string },
  ): Promise<T>;
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<KubeList<T>>;
  /** Opens one watch connection: ends when the server ends it, throws when it fails. Use a reflector to keep watching. */
  watch<T extends KubeObject>(resource: Resource, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(
    resource: Resource,
    object: T,
    options?: WriteOptions & { readonly name?: string },
  ): Promise<T>;
  update<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: Patch,
    options?: WriteOptions & WithKnown,
  ): Promise<T>;
  /** Resolves to the server's response: the object for pods, a Status for most kinds. */
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<KubeObject>;
  /** Deletes all objects that are selected. Resolves to the server's response: a list of the objects, or a Status. */
  deleteCollection(resource: Resource, options?: DeleteCollectionOptions): Promise<KubeObject>;
}

/**
 * ApiError is a failed call to the API server, with the server's status, reason and message.
 *
 * @example
 * if (error instanceof ApiError && error.status === 429) await clock.sleep(error.retryAfterMs ?? 1000);
 */
export class ApiError extends AgentError {
  override readonly name: string = 'ApiError';
  /** HTTP status; 0 when there was no response. */
  readonly status: number;
  /** e.g. `NotFound`, `Conflict`, `Expired`; `''` when the response has none. */
  readonly reason: string;
  readonly details: Status['details'] | undefined;
  /** From `Retry-After` or `details.retryAfterSeconds`, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    body: Partial<Pick<Status, 'reason' | 'message' | 'details'>>,
    options?: ErrorOptions & { retryAfterMs?: number },
  ) {
    super(codeOfStatus(status), body.message ?? `the API server answered ${status}`, options);
    this.status = status;
    this.reason = body.reason ?? '';
    this.details = body.details;
    this.retryAfterMs =
      options?.retryAfterMs ??
      (body.details?.retryAfterSeconds && body.details.retryAfterSeconds * 1000) ??
      undefined;
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  0: 'unavailable',
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  409: 'conflict',
  410: 'failed_precondition',
  422: 'invalid_argument',
  429: 'resource_exhausted',
  500: 'internal',
  503: 'unavailable',
  504: 'deadline_exceeded',
};

/** Returns podtender's error code for an HTTP status. */
export function codeOfStatus(status: number): ErrorCode {
  return codes[status] ?? (status >= 500 ? 'unavailable' : 'invalid_argument');
}

export const isNotFound = (reason: unknown): boolean =>
  reason instanceof AgentError && reason.code === 'not_found';
export const isForbidden = (reason: unknown): boolean => reason instanceof ApiError && reason.status === 403;
/**
 * True when the node authorizer does not (yet) relate this node to the requested object: its view of pods may be a moment behind the
 * watch that delivered a pod.
 */
export const isUnrelated = (reason: unknown): boolean =>
  isForbidden(reason) && messageOf(reason).includes('no relationship found');
export const isConflict = (reason: unknown): boolean =>
  reason instanceof ApiError && reason.status === 409 && reason.reason !== 'AlreadyExists';
export const isAlreadyExists = (reason: unknown): boolean =>
  reason instanceof ApiError && reason.reason === 'AlreadyExists';
/**
 * Reports whether the server names this cause, e.g. `NamespaceTerminating`, with which it rejects new objects in a terminating namespace.
 */
export const hasCause = (reason: unknown, cause: string): boolean =>
  reason instanceof ApiError && (reason.details?.causes ?? []).some((one) => one.reason === cause);
