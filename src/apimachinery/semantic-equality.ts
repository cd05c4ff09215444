import { fieldsIn, type Shape } from './api-types.ts';
import { isObject, type JsonObject, sameJson } from './json.ts';
import { ownMember } from '../base/own.ts';

/** Returns a value without its empty lists and maps; a struct stays, even an empty one. */
function withoutEmpties(value: unknown, shape: Shape | undefined): unknown {
  if (!shape || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    return shape.is === 'list' ? value.map((item: unknown) => withoutEmpties(item, shape.of)) : value;
  }
  if (shape.is === 'scalar' || shape.is === 'list' || !isObject(value)) return value;
  const keys = Object.keys(value);
  if (shape.is === 'map' && keys.length === 0) return undefined;
  const shapeAt = (key: string): Shape | undefined =>
    shape.is === 'map' ? shape.of : fieldsIn(shape).get(key)?.shape;
  return Object.fromEntries(
    keys
      .map((key) => [key, withoutEmpties(ownMember(value, key), shapeAt(key))] as const)
      .filter(([, inner]) => inner !== undefined && inner !== null),
  );
}

/** Returns an object without its empty lists and maps. */
export const meaningOf = (object: JsonObject, shape: Shape): JsonObject =>
  withoutEmpties(object, shape) as JsonObject;

/** Reports whether two objects mean the same: an empty list or map is like an absent one. Follows `equality.Semantic.DeepEqual`. */
export const sameInMeaning = (a: JsonObject, b: JsonObject, shape: Shape): boolean =>
  sameJson(a, b) || sameJson(withoutEmpties(a, shape), withoutEmpties(b, shape));
