import { goQuote } from '../../go/go-quote.ts';
import { goStructJson } from '../../go/go-json.ts';

/** Type of a field error, in the words of the message. */
export type FieldErrorType =
  | 'Required value'
  | 'Invalid value'
  | 'Unsupported value'
  | 'Forbidden'
  | 'Duplicate value'
  | 'Not found'
  | 'Too long'
  | 'Too many'
  | 'Internal error';

/** Reason in a Status for each type of field error. */
export const fieldErrorReasons: Readonly<Record<FieldErrorType, string>> = {
  'Required value': 'FieldValueRequired',
  'Invalid value': 'FieldValueInvalid',
  'Unsupported value': 'FieldValueNotSupported',
  Forbidden: 'FieldValueForbidden',
  'Duplicate value': 'FieldValueDuplicate',
  'Not found': 'FieldValueNotFound',
  'Too long': 'FieldValueTooLong',
  'Too many': 'FieldValueTooMany',
  'Internal error': 'InternalError',
};

/** An error of one field. Follows apimachinery `field.Error`. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name` */
  readonly field: string;
  /** The invalid value in the form that {@link bodyOf} prints; absent for types that print none. */
  readonly value?: unknown;
  /** What would be valid; empty when the type says it all. */
  readonly detail: string;
}

/** Errors as they are found, in Kubernetes' order. */
export type Faults = Generator<FieldError, void, undefined>;

export const required = (field: string, detail = ''): FieldError => ({
  type: 'Required value',
  field,
  detail,
});
export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'Invalid value',
  field,
  value,
  detail,
});
/** Stands for a value that the message leaves out. */
export const omitted: unique symbol = Symbol('omitted');
export const forbidden = (field: string, detail: string): FieldError => ({
  type: 'Forbidden',
  field,
  detail,
});
export const duplicate = (field: string, value: unknown): FieldError => ({
  type: 'Duplicate value',
  field,
  value,
  detail: '',
});
export const notFound = (field: string, value: unknown, detail = ''): FieldError => ({
  type: 'Not found',
  field,
  value,
  detail,
});
export const tooLong = (field: string, mostBytes: number): FieldError => ({
  type: 'Too long',
  field,
  detail: `may not be more than ${mostBytes} ${mostBytes === 1 ? 'byte' : 'bytes'}`,
});
export const tooMany = (field: string, count: number, most: number): FieldError => ({
  type: 'Too many',
  field,
  value: count,
  detail: `must have at most ${most} ${most === 1 ? 'item' : 'items'}`,
});
export const unsupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'Unsupported value',
  field,
  value,
  detail: `supported values: ${supported.map(goQuote).join(', ')}`,
});

const withoutValue: ReadonlySet<FieldErrorType> = new Set([
  'Required value',
  'Forbidden',
  'Too long',
  'Internal error',
]);

/** Formats an error without its field: type, value and detail (`field.Error.ErrorBody`). */
export function bodyOf(error: FieldError): string {
  const shown = withoutValue.has(error.type) || error.value === omitted ? '' : `: ${shownOf(error)}`;
  return `${error.type}${shown}${error.detail === '' ? '' : `: ${error.detail}`}`;
}

/** Formats an error as one line: `spec.containers[0].name: Required value`. */
export const formatFieldError = (error: FieldError): string => `${error.field}: ${bodyOf(error)}`;

/** Joins errors as Kubernetes does: a single one as it is, several in brackets, without duplicates. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

/** Formats the value: as JSON for unsupported values, otherwise as Go does. */
const shownOf = ({ type, value }: FieldError): string =>
  type === 'Unsupported value' && typeof value === 'string' ? goStructJson(value) : show(value);

function show(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return goQuote(value);
  return goStructJson(value);
}

/** Yields an `invalid` error for each message of a rule. */
export function* invalidEach(field: string, value: string, texts: readonly string[]): Faults {
  for (const text of texts) yield invalid(field, value, text);
}

/** Yields an error unless the value is supported. */
export function* oneOf(field: string, value: string | undefined, supported: readonly string[]): Faults {
  if (!supported.includes(value ?? '')) yield unsupported(field, value ?? '', supported);
}
