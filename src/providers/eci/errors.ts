import { AgentError, type ErrorCode } from '../../base/errors.ts';

/**
 * What an error of the service asks for:
 * - `transient`: try again, after `retryAfterMs` or with a growing delay;
 * - `capacity`: the cloud has no room or the account no quota; the pod waits, with long delays;
 * - `auth`: the credentials are refused; the node is not ready and no pod is touched;
 * - `not_found`: the container group is gone;
 * - `permanent`: the request will never succeed as it is.
 */
export type EciErrorClass = 'transient' | 'capacity' | 'auth' | 'not_found' | 'permanent';

/** What an {@link EciError} is made from. */
export interface EciErrorFacts {
  /** The service's code, e.g. `Throttling.User`; for the network `NetworkError`, `Timeout` or `BadAnswer`. */
  readonly eciCode: string;
  readonly message: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** EciError is a failed call: the service's code and message, and the ID by which Alibaba's support finds the request. */
export class EciError extends AgentError {
  override readonly name = 'EciError';
  readonly eciCode: string;
  readonly class: EciErrorClass;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor({ eciCode, message, status = 0, requestId, retryAfterMs, cause }: EciErrorFacts) {
    const group = classOf(eciCode, status);
    const id = requestId === undefined ? '' : ` (request ${requestId})`;
    super(codes[group], `${eciCode}: ${message}${id}`, { cause });
    this.eciCode = eciCode;
    this.class = group;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

const codes: Readonly<Record<EciErrorClass, ErrorCode>> = {
  transient: 'unavailable',
  capacity: 'resource_exhausted',
  auth: 'unauthenticated',
  not_found: 'not_found',
  permanent: 'invalid_argument',
};

/** Patterns of the service's codes, the first that matches decides. */
const rules: readonly (readonly [RegExp, EciErrorClass])[] = [
  [/^(InvalidContainerGroupId|ContainerGroup)\.?NotFound|^InvalidContainerGroup\.NotFound/i, 'not_found'],
  [
    /^(Throttling|ServiceUnavailable|InternalError|NetworkError|Timeout|BadAnswer|RequestTimeout)/i,
    'transient',
  ],
  [
    /^(OperationDenied\.)?NoStock|^QuotaExceeded|^OperationDenied\.(NoStock|QuotaExceeded)|^SecurityRisk|^Account\.Arrearage/i,
    'capacity',
  ],
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|IncompleteSignature|Forbidden|InvalidSecurityToken|MissingSecurityToken|NoPermission|SignatureNonceUsed|InvalidTimeStamp|IllegalTimestamp|UnauthorizedOperation)/i,
    'auth',
  ],
];

/** classOf returns how an error code of the service is to be handled; unknown codes are classified by their HTTP status. */
export function classOf(eciCode: string, status: number): EciErrorClass {
  const rule = rules.find(([pattern]) => pattern.test(eciCode));
  if (rule) return rule[1];
  if (status >= 500 || status === 429 || status === 408) return 'transient';
  return status === 401 ? 'auth' : 'permanent';
}

/** errorOfAnswer reads the error body of the service; a body that is none is described by its status alone. */
export function errorOfAnswer(status: number, body: unknown, retryAfter?: string | null): EciError {
  const fields = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const text = (name: string): string | undefined =>
    Object.hasOwn(fields, name) && typeof fields[name] === 'string' ? fields[name] : undefined;
  const seconds = Number(retryAfter ?? Number.NaN);
  const requestId = text('RequestId');
  return new EciError({
    eciCode: text('Code') ?? (status >= 500 ? 'ServiceUnavailable' : `HTTP${String(status)}`),
    message: text('Message') ?? `the service answered ${String(status)} without a reason`,
    status,
    ...(requestId !== undefined && { requestId }),
    ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }),
  });
}

/** isEciError reports whether `reason` is an {@link EciError}, and of class `group` if one is passed. */
export const isEciError = (reason: unknown, group?: EciErrorClass): reason is EciError =>
  reason instanceof EciError && (group === undefined || reason.class === group);
