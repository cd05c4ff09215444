import { type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { nonNegative } from '../../../kube/validation/shared.ts';
import { type JsonObject, sameJson } from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';

/** Returns a number at a key, or the fallback when it is absent. */
export function numberAt(object: JsonObject, key: string): number | undefined;
export function numberAt(object: JsonObject, key: string, fallback: number): number;
export function numberAt(object: JsonObject, key: string, fallback?: number): number | undefined {
  const value = ownMember(object, key);
  return typeof value === 'number' ? value : fallback;
}

/** Returns the path of a member; at the root the path is the key. */
export const child = (field: string, key: string): string => (field === '' ? key : `${field}.${key}`);

/** Validates that numbers of an object are not negative. */
export function* nonNegatives(field: string, object: JsonObject, ...keys: readonly string[]): Faults {
  for (const key of keys) yield* nonNegative(child(field, key), numberAt(object, key));
}

/** Returns an object with its members sorted, as Go prints maps; `null` when it is absent. */
export const goMap = (map: unknown): unknown =>
  typeof map === 'object' && map !== null
    ? Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
    : null;

/** Validates that a value does not change. @param shown the value as the message prints it */
export function* immutable(field: string, now: unknown, old: unknown, shown: unknown = now): Faults {
  if (!sameJson(now ?? null, old ?? null)) yield invalid(field, shown ?? null, 'field is immutable');
}

const percent = /^[0-9]+%$/;
const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Validates a number or percentage that is not negative. */
export function* positiveIntOrPercent(field: string, share: unknown): Faults {
  if (typeof share === 'string') {
    if (!percent.test(share)) yield invalid(field, share, percentText);
  } else if (typeof share === 'number') yield* nonNegative(field, share);
}

/** Validates that a percentage is at most 100. */
export function* notMoreThan100Percent(field: string, share: unknown): Faults {
  if (typeof share === 'string' && percent.test(share) && parseInt(share, 10) > 100)
    yield invalid(field, share, 'must not be greater than 100%');
}

/** Returns the number of a count or percentage; zero for other text. */
export const shareOf = (share: unknown): number => {
  if (typeof share === 'number') return share;
  return typeof share === 'string' && /^-?[0-9]+%?$/.test(share) ? parseInt(share, 10) : 0;
};
