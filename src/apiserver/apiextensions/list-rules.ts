import { ownMember } from '../../base/own.ts';
import { canonicalJson, isObject, type JsonObject, listAt } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { badValue } from './value-findings.ts';
import { sorted } from './sorted-value.ts';
import { itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';

/**
 * Returns the items that stand twice in sets, or have the key of another one in list maps. Follows apiextensions-apiserver
 * `ValidateListSetsAndMaps`.
 */
export function repeatedItems(value: unknown, schema: Structural | undefined, path = ''): FieldFault[] {
  if (!schema) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return [
      ...ownRepeats(value, schema, path),
      ...value.flatMap((item: unknown, i) => repeatedItems(item, items, `${path}[${i}]`)),
    ];
  }
  if (!isObject(value)) return [];
  const values = valuesOf(schema);
  return Object.entries(value).flatMap(([key, inner]) => {
    const declared = propertyOf(schema, key);
    return [
      ...(values ? repeatedItems(inner, values, `${path}[${key}]`) : []),
      ...(declared ? repeatedItems(inner, declared, path === '' ? key : `${path}.${key}`) : []),
    ];
  });
}

function ownRepeats(value: readonly unknown[], schema: Structural, path: string): FieldFault[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return twins(value, path);
  if (type !== 'map') return [];
  const odd = value.findIndex((item) => item !== null && !isObject(item));
  if (odd >= 0) {
    const why = 'must be an object for an array of list-type map';
    return [{ ...badValue(value[odd], why), field: `${path}[${odd}]` }];
  }
  return twins(
    value.map((item) => keyPart(item, listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[])),
    path,
  );
}

/** Returns the members of an item that tell it from others. */
const keyPart = (item: unknown, keys: readonly string[]): JsonObject =>
  Object.fromEntries(
    keys
      .filter((key) => isObject(item) && Object.hasOwn(item, key))
      .map((key) => [key, ownMember(item as JsonObject, key)]),
  );

/** Returns a fault for the second one of each value that stands several times. */
function twins(values: readonly unknown[], path: string): FieldFault[] {
  const counts = new Map<string, number>();
  return values.flatMap((value, i) => {
    const key = canonicalJson(value);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count === 2 ? [fault.duplicate(`${path}[${i}]`, sorted(value))] : [];
  });
}
