import { goQuote } from '../../go/go-quote.ts';
import { goStructJson } from '../../go/go-json.ts';

/** What kind of fault a field has, in the words of the message. */
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

/** The machine-readable cause of each kind, as a Status names it. */
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

/** One fault of one field. Follows apimachinery `field.Error`. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name` */
  readonly field: string;
  /** The value at fault, as {@link bodyOf} shows it; absent for kinds that show none. */
  readonly value?: unknown;
  /** What would be right; empty when the kind says it all. */
  readonly detail: string;
}

/** Faults as they are found, in Kubernetes' order. */
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
  detail: `may not be more than ${mostBytes} bytes`,
});
export const tooMany = (field: string, count: number, most: number): FieldError => ({
  type: 'Too many',
  field,
  value: count,
  detail: `must have at most ${most} items`,
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

/** The fault without its field: kind, value and what would be right (`field.Error.ErrorBody`). */
export function bodyOf(error: FieldError): string {
  const shown = withoutValue.has(error.type) ? '' : `: ${shownOf(error)}`;
  return `${error.type}${shown}${error.detail === '' ? '' : `: ${error.detail}`}`;
}

/** The fault as one line: `spec.containers[0].name: Required value`. */
export const formatFieldError = (error: FieldError): string => `${error.field}: ${bodyOf(error)}`;

/** Several faults as Kubernetes joins them: one alone, more in brackets, each text once. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

/** What is not one of a set of texts is shown as JSON, all else as Go shows it. */
const shownOf = ({ type, value }: FieldError): string =>
  type === 'Unsupported value' && typeof value === 'string' ? goStructJson(value) : show(value);

function show(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return goQuote(value);
  return goStructJson(value);
}

/** `invalid` for each text of a rule. */
export function* invalidEach(field: string, value: string, texts: readonly string[]): Faults {
  for (const text of texts) yield invalid(field, value, text);
}

/** A fault unless the value is one of those supported. */
export function* oneOf(field: string, value: string | undefined, supported: readonly string[]): Faults {
  if (!supported.includes(value ?? '')) yield unsupported(field, value ?? '', supported);
}
