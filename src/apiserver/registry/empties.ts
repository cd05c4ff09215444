import { ownMember, setOwn } from '../../base/own.ts';
import type { Empties } from '../../apimachinery/serializer/codec.ts';
import type { Draft, JsonObject } from '../../apimachinery/json.ts';

/** Returns an object with the lists and maps that were sent empty, where nothing has filled them since: messages show them. */
export function withEmpties(object: JsonObject, empties: Empties = new Map()): JsonObject {
  if (empties.size === 0) return object;
  const copy = structuredClone(object);
  for (const [path, empty] of empties) {
    const keys = path.split(/[.[\]]+/);
    const last = keys.pop() ?? '';
    const holder = keys.reduce<unknown>((at, key) => ownMember(at as Draft | undefined, key), copy) as
      Draft | undefined;
    if (holder) setOwn(holder, last, ownMember(holder, last) ?? empty);
  }
  return copy;
}
