import type { JsonObject } from '../apimachinery/json.ts';
import type { KubeObject } from './types.ts';

/** Returns a deep copy of a JSON value that shares nothing with it; members that are `undefined` are left out. */
export function cloneJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (value instanceof Date) return value.toISOString() as T;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    if (key === '__proto__')
      Object.defineProperty(copy, key, {
        value: cloneJson(member),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    else copy[key] = cloneJson(member);
  }
  return copy as T;
}

/** An API object as its JSON. */
export const jsonOf = (object: KubeObject): JsonObject => object as JsonObject;
