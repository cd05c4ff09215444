import { isAborted } from '../../base/abort.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { ApiError } from '../../api/client.ts';
import { createJsonPatch, type JsonPatchOperation } from '../../apimachinery/patch/create-json-patch.ts';
import { cloneJson, jsonOf } from '../json-value.ts';
import type { KubeObject } from '../types.ts';
import { isPristine, pristineObject } from './pristine.ts';
import type { AdmissionRequest, AdmissionResponse } from './review.ts';

/** Returns an answer that admits the request. */
export const allowed = (message = ''): AdmissionResponse => ({
  allowed: true,
  result: { code: 200, ...(message !== '' && { message }) },
});

/** Returns an answer that refuses the request with 403 Forbidden. @param message is shown to the user, and should say what would be right */
export const denied = (message = ''): AdmissionResponse => ({
  allowed: false,
  result: { code: 403, reason: 'Forbidden', ...(message !== '' && { message }) },
});

/** Returns an answer for a request that could not be handled. @param code HTTP status, such as 400 or 500 */
export const errored = (code: number, reason: unknown): AdmissionResponse => ({
  allowed: false,
  result: { code, message: messageOf(reason) },
});

/**
 * Returns an answer that admits a request and changes its object.
 *
 * @example
 * patched(request, { ...pod, metadata: { ...pod.metadata, labels: { seen: 'true' } } }) // computes the patch
 * patched('labelled', { op: 'add', path: '/metadata/labels/seen', value: 'true' }) // a patch of your own
 */
export function patched(request: AdmissionRequest | KubeObject, modified: KubeObject): AdmissionResponse;
export function patched(message: string, ...patches: readonly JsonPatchOperation[]): AdmissionResponse;
export function patched(
  first: AdmissionRequest | KubeObject | string,
  ...rest: readonly unknown[]
): AdmissionResponse {
  if (typeof first === 'string') return { ...allowed(first), patches: rest as readonly JsonPatchOperation[] };
  const original = isReview(first) ? pristineObject(first) : first;
  if (!original) throw new AgentError('invalid_argument', 'patched: the request has no object to patch');
  const patches = createJsonPatch(jsonOf(original), jsonOf(rest[0] as KubeObject));
  return { allowed: true, result: { code: 200 }, patches: patches.map(ownPatch) };
}

/** Returns an operation whose value shares nothing with the object that it comes from. */
const ownPatch = (step: JsonPatchOperation): JsonPatchOperation =>
  typeof step.value === 'object' && step.value !== null ? { ...step, value: cloneJson(step.value) } : step;

const isReview = (value: AdmissionRequest | KubeObject): value is AdmissionRequest =>
  isPristine(value) || ('operation' in value && 'uid' in value);

/** Adds warnings, which the user of the request sees. */
export const withWarnings = (
  response: AdmissionResponse,
  ...warnings: readonly string[]
): AdmissionResponse => ({ ...response, warnings: [...(response.warnings ?? []), ...warnings] });

/** An error that refuses a request with more than a message. */
export class DeniedError extends Error {
  override readonly name = 'DeniedError';
  readonly response: AdmissionResponse;

  constructor(
    message: string,
    options: {
      readonly warnings?: readonly string[];
      /** HTTP status. Default 403. */
      readonly code?: number;
      readonly reason?: string;
      readonly auditAnnotations?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    const { warnings, code = 403, reason = code === 403 ? 'Forbidden' : '', auditAnnotations } = options;
    this.response = {
      allowed: false,
      result: { code, message, ...(reason !== '' && { reason }) },
      ...(warnings && { warnings }),
      ...(auditAnnotations && { auditAnnotations }),
    };
  }
}

/**
 * Returns the refusal for what a handler has thrown: an API error keeps its status and reason, a passed deadline is 504, all else is
 * Forbidden.
 */
export function refusalOf(reason: unknown, signal: AbortSignal): AdmissionResponse {
  if (isAborted(signal) && reason === signal.reason) return errored(504, reason);
  if (reason instanceof DeniedError) return reason.response;
  if (!(reason instanceof ApiError) || reason.status === 0) return denied(messageOf(reason));
  return {
    allowed: false,
    result: {
      code: reason.status,
      message: reason.message,
      ...(reason.reason !== '' && { reason: reason.reason }),
      ...(reason.details && { details: reason.details }),
    },
  };
}
