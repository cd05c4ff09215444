import { tableOf } from '../base/own.ts';
import { goQuote } from '../go/go-quote.ts';
import {
  bodyOf,
  duplicate,
  type FieldError,
  fieldErrorReasons,
  forbidden as forbiddenField,
  invalid as invalidValue,
  required,
  tooLong,
  unsupported,
} from '../kube/validation/field-error.ts';
import type { JsonObject } from './json.ts';

/** An invalid field, as in `details.causes`. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

/** The kind of object that a Status is about. */
export interface Subject {
  readonly group?: string;
  /** The resource (`pods`) in most responses, the kind (`Pod`) in validation errors. */
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** StatusError is thrown anywhere below the HTTP layer and becomes the Status in the response. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;

  /** @param details omitted from the body when `undefined`; an empty one is written as `{}` */
  constructor(
    code: number,
    reason: string,
    message: string,
    extra: { details?: JsonObject; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.code = code;
    this.headers = extra.headers ?? {};
    this.body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason && { reason }),
      ...(extra.details && { details: extra.details }),
      code,
    };
  }
}

const detailsOf = ({ group, kind, name, uid }: Subject): JsonObject => ({
  ...(name && { name }),
  ...(group && { group }),
  ...(kind && { kind }),
  ...(uid && { uid }),
});

/** Returns the name of a resource in messages: `pods` or `leases.coordination.k8s.io`. */
export const qualified = (resource: string, group?: string): string =>
  group ? `${resource}.${group}` : resource;

export const notFound = (subject: Subject): StatusError =>
  new StatusError(
    404,
    'NotFound',
    `${qualified(subject.kind ?? '', subject.group)} "${subject.name ?? ''}" not found`,
    { details: detailsOf(subject) },
  );

/** Returns the refusal of a second object of a name. With `generateName` it asks the client to try again after a second. */
export function alreadyExists(
  subject: Subject,
  {
    isDeleted = false,
    isGenerated = false,
  }: { readonly isDeleted?: boolean; readonly isGenerated?: boolean } = {},
): StatusError {
  const what = `${qualified(subject.kind ?? '', subject.group)} "${subject.name ?? ''}" already exists`;
  const why = isGenerated ? ', the server was not able to generate a unique name for the object' : '';
  return new StatusError(
    409,
    'AlreadyExists',
    `${isDeleted ? 'object is being deleted: ' : ''}${what}${why}`,
    {
      details: { ...detailsOf(subject), ...(isGenerated && { retryAfterSeconds: 1 }) },
      ...(isGenerated && { headers: { 'Retry-After': '1' } }),
    },
  );
}

export const conflict = (subject: Subject, why: string, causes?: readonly Cause[]): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(subject.kind ?? '', subject.group)} "${subject.name ?? ''}": ${why}`,
    { details: { ...detailsOf(subject), ...(causes && { causes }) } },
  );

export const modified = (subject: Subject): StatusError =>
  conflict(
    subject,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

/** Returns the 422 for a patch that cannot be applied, without the reason. */
export const rejected = (): StatusError =>
  new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  });

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');

/** Returns a 403 with the reason after the colon. */
export const forbidden = (subject: Subject, why: string): StatusError => {
  const where = qualified(subject.kind ?? '', subject.group);
  const head = subject.name ? `${where} "${subject.name}"` : where;
  return new StatusError(403, 'Forbidden', `${head} is forbidden: ${why}`, { details: detailsOf(subject) });
};

export const methodNotAllowed = (): StatusError =>
  new StatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    { details: {} },
  );

export const noSuchResource = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });

/** Reasons and texts for responses of another server, as in client-go's `NewGenericServerResponse`, by status code. */
export const serverReasons: Readonly<Record<number, readonly [reason: string, text: string]>> = tableOf({
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  409: ['Conflict', 'the server reported a conflict'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be processing the request',
  ],
});

export const internalError = (text: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${text}`, {
    details: { causes: [{ message: text }] },
  });

/** Returns the error for another server's failure about `subject`. Follows apiserver `GenericHttpResponseChecker`. */
export function genericServerError(code: number, text: string, subject: Subject): StatusError {
  if (code === 400) return badRequest(text);
  if (code === 500) return internalError(text);
  const unknown = [
    '',
    `the server responded with the status code ${code} but did not return more information`,
  ] as const;
  const [reason, explanation] =
    code === 403
      ? (['Forbidden', text] as const)
      : (serverReasons[code] ??
        (code > 500
          ? ([
              'InternalError',
              `an error on the server (${goQuote(text)}) has prevented the request from succeeding`,
            ] as const)
          : unknown));
  return new StatusError(code, reason, `${explanation} ( ${subject.kind ?? ''} ${subject.name ?? ''})`, {
    details: detailsOf(subject),
  });
}

export const notAcceptable = (types: readonly string[]): StatusError =>
  new StatusError(406, 'NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`);

export const unsupportedMediaType = (types: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${types.join(', ')}`,
  );

/** Returns the 415 of the layer that checks only media types. */
export const unsupportedBody = (): StatusError =>
  new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', { details: {} });

export const expired = (message: string): StatusError => new StatusError(410, 'Expired', message);

/** @param retry whether the answer has `Retry-After`, as those of the cache of objects have; those of the store have none */
export const tooLargeVersion = (requested: number | string, current: number, retry = true): StatusError =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      ...(retry && { retryAfterSeconds: 1 }),
    },
    ...(retry && { headers: { 'Retry-After': '1' } }),
  });

/** A field fault: the reason of the cause, its text and path. */
export interface FieldFault {
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid'
    | 'FieldValueNotFound'
    | 'InternalError';
  readonly field: string;
  /** With its kind in front: `Invalid value: "x": …`. */
  readonly message: string;
}

/** Returns a validation fault as a cause of a Status. */
export const causeOf = (error: FieldError): FieldFault => ({
  reason: fieldErrorReasons[error.type] as FieldFault['reason'],
  field: error.field,
  message: bodyOf(error),
});

/** Constructors of field faults as causes. */
export const fault = {
  required: (field: string, why = ''): FieldFault => causeOf(required(field, why)),
  invalid: (field: string, value: unknown, why: string): FieldFault =>
    causeOf(invalidValue(field, value, why)),
  unsupported: (field: string, value: unknown, values: readonly string[]): FieldFault =>
    causeOf(unsupported(field, value, values)),
  forbidden: (field: string, why: string): FieldFault => causeOf(forbiddenField(field, why)),
  duplicate: (field: string, value: unknown): FieldFault => causeOf(duplicate(field, value)),
  tooLong: (field: string, most: number): FieldFault => causeOf(tooLong(field, most)),
  internal: (field: string, why: string): FieldFault =>
    causeOf({ type: 'Internal error', field, detail: why }),
};

/** Joins faults to one text: a single one as it is, several in brackets, duplicates once. */
export function linesOf(faults: readonly FieldFault[]): string {
  const lines = [...new Set(faults.map(({ field, message }) => `${field}: ${message}`))];
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}

/** Returns a 422 with every fault; `kind` is the kind's name. */
export function invalid(
  kind: string,
  group: string | undefined,
  name: string,
  faults: readonly FieldFault[],
): StatusError {
  const what = `${qualified(kind, group)} ${goQuote(name)}`;
  return new StatusError(422, 'Invalid', `${what} is invalid: ${linesOf(faults)}`, {
    details: {
      ...detailsOf({ name, ...(group && { group }), kind }),
      causes: faults.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  });
}
