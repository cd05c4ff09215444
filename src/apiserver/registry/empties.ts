import { ownMember, setOwn } from '../../base/own.ts';
import type { Empties } from '../../apimachinery/serializer/codec.ts';
import type { Draft, JsonObject } from '../../apimachinery/json.ts';

/** Returns the place of a path's last key. */
function placeOf(
  object: JsonObject,
  path: string,
): { readonly holder: Draft | undefined; readonly last: string } {
  const keys = path.split(/[.[\]]+/);
  const last = keys.pop() ?? '';
  const holder = keys.reduce<unknown>((at, key) => ownMember(at as Draft | undefined, key), object);
  return { holder: holder as Draft | undefined, last };
}

/**
 * Returns an object with the required lists and maps that were sent empty: stored as null, they have an owner, as opposed to those that were not
 * sent.
 */
export function withRequiredEmpties(object: JsonObject, empties: Empties = new Map()): JsonObject {
  const nulls = [...empties].filter(([path]) => {
    const { holder, last } = placeOf(object, path);
    return ownMember(holder, last) === null;
  });
  return nulls.length === 0 ? object : withEmpties(object, new Map(nulls));
}

/** Returns an object with the lists and maps that were sent empty, where nothing has filled them since: messages show them. */
export function withEmpties(object: JsonObject, empties: Empties = new Map()): JsonObject {
  if (empties.size === 0) return object;
  const copy = structuredClone(object);
  for (const [path, empty] of empties) {
    const { holder, last } = placeOf(copy, path);
    if (holder) setOwn(holder, last, ownMember(holder, last) ?? empty);
  }
  return copy;
}
