import { type JsonObject, nameOf, stringAt } from '../../apimachinery/json.ts';
import { groupVersionOf } from '../../apimachinery/kinds.ts';
import { badRequest, fault, invalid, type StatusError } from '../../apimachinery/status-error.ts';
import { withWarnings } from './exchange.ts';

/** The kind that is expected of an object. */
interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Refuses an object of another version than the custom kind's, or of another kind. @throws {OtherKind} */
export function refuseOtherThanCustom(
  value: JsonObject,
  expected: ExpectedKind & { readonly strict: readonly string[] },
): void {
  const found = stringAt(value, 'apiVersion');
  if (found !== expected.apiVersion)
    throw new OtherKind(
      badRequest(
        `the API version in the data (${found}) does not match the expected API version (${expected.apiVersion})`,
      ),
      { apiVersion: found, strict: [...metadataFaults(expected.strict), ...undeclaredIn(value, expected)] },
    );
  const refusal = refusalOfOther(value, {
    kind: expected.kind,
    version: found.split('/').at(-1) ?? '',
    group: found.split('/')[0] ?? '',
  });
  if (refusal) throw new OtherKind(refusal, { apiVersion: found, strict: metadataFaults(expected.strict) });
}

/** OtherKind is the refusal of an object of another kind or version, once its fields were validated. */
class OtherKind extends Error {
  override readonly name = 'OtherKind';
  readonly refusal: StatusError;
  readonly apiVersion: string;
  readonly strict: readonly string[];

  constructor(
    refusal: StatusError,
    { apiVersion, strict }: { readonly apiVersion: string; readonly strict: readonly string[] },
  ) {
    super(refusal.message);
    this.refusal = refusal;
    this.apiVersion = apiVersion;
    this.strict = strict;
  }
}

/** Returns the faults of fields that all kinds have: those of another kind are not known. */
export const metadataFaults = (strict: readonly string[]): readonly string[] =>
  strict.filter((text) => text.startsWith('unknown field "metadata.'));

/** Returns the fields of an object of the kind, but of a version that is not served: it has none but those of all resources. */
export function undeclaredIn(value: JsonObject, { apiVersion, kind }: ExpectedKind): readonly string[] {
  const isOfKind =
    stringAt(value, 'kind') === kind &&
    stringAt(value, 'apiVersion').split('/')[0] === apiVersion.split('/')[0];
  if (!isOfKind) return [];
  return Object.keys(value)
    .filter((key) => !['apiVersion', 'kind', 'metadata'].includes(key))
    .sort()
    .map((key) => `unknown field ${JSON.stringify(key)}`);
}

/** Returns the 422 for an object that is not of the custom kind and version. */
export function refusalOfOther(
  value: JsonObject,
  expected: { readonly group: string; readonly version: string; readonly kind: string },
): StatusError | undefined {
  const [kind, apiVersion] = [stringAt(value, 'kind'), stringAt(value, 'apiVersion')];
  const expectedVersion = groupVersionOf(expected);
  const faults = [
    ...(kind === expected.kind ? [] : [fault.invalid('kind', kind, `must be ${expected.kind}`)]),
    ...(apiVersion === expectedVersion
      ? []
      : [fault.invalid('apiVersion', apiVersion, `must be ${expectedVersion}`)]),
  ];
  if (faults.length === 0) return undefined;
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  return invalid(kind, group, nameOf(value), faults);
}

/** Returns what is read. The refusal of another kind comes with the warnings about its fields. @throws {StatusError} */
export function orRefusal<T>(
  read: () => T,
  judge: (strict: readonly string[], apiVersion: string) => readonly string[],
): T {
  try {
    return read();
  } catch (reason) {
    if (reason instanceof OtherKind)
      throw withWarnings(reason.refusal, judge(reason.strict, reason.apiVersion));
    throw reason;
  }
}
