import { ownMember } from '../../base/own.ts';
import { canonicalJson, isObject, type JsonObject, listAt, sameJson } from '../../apimachinery/json.ts';
import { itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';

/** Returns the keys that tell items of a list map apart; undefined for other lists. */
const mapKeysOf = (schema: Structural): readonly string[] | undefined =>
  schema['x-kubernetes-list-type'] === 'map'
    ? (listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[])
    : undefined;

const keyOf = (item: unknown, keys: readonly string[]): string =>
  canonicalJson(keys.map((key) => (isObject(item) ? (ownMember(item, key) ?? null) : null)));

/** Returns how an item of the new list stands in the old one; only items of list maps have a place there. */
export function standingItems(old: unknown, schema: Structural): ((item: unknown) => unknown) | undefined {
  const keys = mapKeysOf(schema);
  if (!keys || !Array.isArray(old)) return undefined;
  const items = new Map<string, unknown>();
  for (const item of old) if (isObject(item)) items.set(keyOf(item, keys), item);
  return (item) => (isObject(item) ? items.get(keyOf(item, keys)) : undefined);
}

/** The schema of a member, declared or of a map. */
export const memberOf = (schema: Structural, key: string): Structural | undefined =>
  propertyOf(schema, key) ?? valuesOf(schema);

/**
 * Reports whether an update leaves a value as it was, as far as its schema tells: items of list maps may change places, and members that are not
 * declared count as changed. Follows apiserver's `CorrelatedObject`.
 */
export function isUnchanged(value: unknown, old: unknown, schema: Structural): boolean {
  if (Array.isArray(value) && Array.isArray(old)) return isSameList(value, old, schema);
  if (isObject(value) && isObject(old)) return isSameObject(value, old, schema);
  return sameJson(value, old);
}

function isSameList(value: readonly unknown[], old: readonly unknown[], schema: Structural): boolean {
  if (value.length !== old.length) return false;
  const standing = standingItems(old, schema);
  const items = itemsOf(schema);
  if (!standing || !items) return sameJson(value, old);
  return value.every((item) => {
    const before = standing(item);
    return before !== undefined && isUnchanged(item, before, items);
  });
}

function isSameObject(value: JsonObject, old: JsonObject, schema: Structural): boolean {
  const keys = Object.keys(value);
  if (keys.length !== Object.keys(old).length) return false;
  return keys.every((key) => {
    const member = memberOf(schema, key);
    const before = ownMember(old, key);
    return member !== undefined && before !== undefined && isUnchanged(ownMember(value, key), before, member);
  });
}
