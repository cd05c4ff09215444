import { ownMember, setOwn } from '../base/own.ts';
/** A JSON object as received; never modified once it is stored. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object under construction, not shared yet. */
export type Draft = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the object under `key`, or an empty one. */
export const objectAt = (value: JsonObject | undefined, key: string): JsonObject => {
  const inner = ownMember(value, key);
  return isObject(inner) ? inner : {};
};

/** Returns the list under `key`, or an empty one. */
export const listAt = (value: JsonObject | undefined, key: string): readonly unknown[] => {
  const inner = ownMember(value, key);
  return Array.isArray(inner) ? inner : [];
};

/** Returns the objects in the list under `key`. */
export const objectsAt = (value: JsonObject | undefined, key: string): readonly JsonObject[] =>
  listAt(value, key).filter(isObject);

/** Returns the text under `key`, or `''`. */
export const stringAt = (value: JsonObject | undefined, key: string): string => {
  const inner = ownMember(value, key);
  return typeof inner === 'string' ? inner : '';
};

/** Returns the metadata of an API object, or an empty object. */
export const metadataOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'metadata');
export const specOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'spec');
export const statusOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'status');

/** Returns the name of an API object, or `''`. */
export const nameOf = (object: JsonObject | undefined): string => stringAt(metadataOf(object), 'name');
export const namespaceOf = (object: JsonObject | undefined): string =>
  stringAt(metadataOf(object), 'namespace');

/** Returns a value as text: JSON for other types, `''` for null and undefined. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** Returns the value at a path of member names; `undefined` where the path does not exist. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (!isObject(at)) return undefined;
    at = ownMember(at, key);
  }
  return at;
}

/** Reports deep equality of JSON values; a member that is `undefined` counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a).filter((key) => ownMember(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => ownMember(b, key) !== undefined);
  return keys.length === others.length && keys.every((key) => sameJson(ownMember(a, key), ownMember(b, key)));
}

/** Returns JSON with sorted members: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .filter((key) => ownMember(value, key) !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(ownMember(value, key))}`);
  return `{${members.join(',')}}`;
}

/** Returns the value without some members. */
export function without(value: JsonObject, ...keys: readonly string[]): Draft {
  const copy: Draft = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}

/** Returns the object with some members of its spec replaced. */
export const withSpec = (object: JsonObject, members: JsonObject): JsonObject => ({
  ...object,
  spec: { ...objectAt(object, 'spec'), ...members },
});

/** Returns the object with some metadata members replaced; `undefined` removes one. */
export function withMetadata(object: JsonObject, members: JsonObject): JsonObject {
  const metadata: Draft = { ...objectAt(object, 'metadata') };
  for (const [key, value] of Object.entries(members)) {
    if (value === undefined) delete metadata[key];
    else setOwn(metadata, key, value);
  }
  return { ...object, metadata };
}
