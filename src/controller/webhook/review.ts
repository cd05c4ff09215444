import { AgentError } from '../../base/errors.ts';
import { ownMember, setOwn } from '../../base/own.ts';
import type { JsonPatchOperation } from '../../apimachinery/patch/create-json-patch.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';
import type { KubeObject } from '../types.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The user whose request is reviewed. */
export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** AdmissionRequest is what the API server asks a webhook about, as in `admission.k8s.io/v1`. */
export interface AdmissionRequest {
  readonly uid: string;
  /** The kind of `object`, as the webhook configuration wants it. */
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subResource?: string;
  /** The kind of the original request; differs from `kind` after a conversion. */
  readonly requestKind?: GroupVersionKind;
  readonly requestResource?: GroupVersionResource;
  readonly requestSubResource?: string;
  /** Absent when the server will generate it. */
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly userInfo: UserInfo;
  /** The object of the request; absent for `DELETE`. */
  readonly object?: KubeObject;
  /** The object that is stored; only for `UPDATE` and `DELETE`. */
  readonly oldObject?: KubeObject;
  readonly dryRun?: boolean;
  readonly options?: KubeObject;
}

/** The status of an answer; a refusal's `message` is shown to the user. */
export interface AdmissionResult {
  /** HTTP status. */
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: object;
}

/** AdmissionResponse is a webhook's answer. */
export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly result?: AdmissionResult;
  /** Only from mutating webhooks. */
  readonly patches?: readonly JsonPatchOperation[];
  /** Shown to the user of the request, one line each. */
  readonly warnings?: readonly string[];
  /** Added to the audit event, under `<name of the webhook>/<key>`. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

const group = 'admission.k8s.io';
const versions: ReadonlySet<string> = new Set([`${group}/v1`, `${group}/v1beta1`]);

/** A review that was received. */
export interface ReceivedReview {
  /** `admission.k8s.io/v1` or `admission.k8s.io/v1beta1`; the answer has the same. */
  readonly apiVersion: string;
  readonly request: AdmissionRequest;
}

/** Parses an AdmissionReview, v1 or v1beta1. @throws {AgentError} `invalid_argument` for what is none */
export function parseReview(text: string): ReceivedReview {
  const fault = (why: string): AgentError => new AgentError('invalid_argument', why);
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch (reason) {
    throw new AgentError('invalid_argument', `unable to decode the request: ${(reason as Error).message}`, {
      cause: reason,
    });
  }
  if (!isObject(review)) throw fault('unable to decode the request: it is no JSON object');
  const [apiVersion, kind] = [stringAt(review, 'apiVersion'), stringAt(review, 'kind')];
  if (kind !== 'AdmissionReview')
    throw fault(`expected an AdmissionReview of ${group}, got kind ${JSON.stringify(kind)}`);
  if (!versions.has(apiVersion))
    throw fault(`expected ${[...versions].join(' or ')}, got ${JSON.stringify(apiVersion)}`);
  if (!isObject(review['request'])) throw fault('the AdmissionReview has no request');
  if (stringAt(review['request'], 'uid') === '') throw fault('the request of the AdmissionReview has no uid');
  return { apiVersion, request: requestOf(review['request']) };
}

/** Leaves out what Go writes as `null`. */
function requestOf(request: JsonObject): AdmissionRequest {
  const present: Record<string, unknown> = {};
  for (const key of Object.keys(request)) {
    const value = ownMember(request, key);
    if (value !== null) setOwn(present, key, value);
  }
  present['userInfo'] = objectAt(request, 'userInfo');
  return present as unknown as AdmissionRequest;
}

/** Returns the AdmissionReview that answers a request. */
export function answeredReview(
  apiVersion: string,
  uid: string,
  { allowed, result = {}, patches = [], warnings = [], auditAnnotations }: AdmissionResponse,
): JsonObject {
  const response = {
    uid,
    allowed,
    status: { metadata: {}, ...result, code: result.code ?? 200 },
    ...(patches.length > 0 && {
      patch: Buffer.from(JSON.stringify(patches)).toString('base64'),
      patchType: 'JSONPatch',
    }),
    ...(warnings.length > 0 && { warnings }),
    ...(auditAnnotations && { auditAnnotations }),
  };
  return { kind: 'AdmissionReview', apiVersion, response };
}

/** The version of an answer to a request that could not be read. */
export const defaultReviewVersion = 'admission.k8s.io/v1';
