import { dynType, stringType, structType, type Type } from '../check/types.ts';

/** Returns the type `Object`, or one of its parts as `Object.spec`: any field may be set to any value. */
export const objectType = (name: string): Type => structType(name, () => dynType);

const patchFields: ReadonlyMap<string, Type> = new Map([
  ['op', stringType],
  ['path', stringType],
  ['from', stringType],
  ['value', dynType],
]);

/** One step of a JSON patch. */
export const patchType: Type = structType('JSONPatch', (field) => patchFields.get(field));

/** Returns the types that expressions of mutations may make, by name. */
export function patchTypes(name: string): Type | undefined {
  if (name === 'JSONPatch') return patchType;
  return name === 'Object' || name.startsWith('Object.') ? objectType(name) : undefined;
}
