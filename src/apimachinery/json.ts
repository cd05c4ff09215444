import { ownMember, setOwn } from '../base/own.ts';
/** A JSON object as it came off the wire; never written to once it is stored. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object that is being built; nobody else holds it yet. */
export type Draft = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object under `key`, or an empty one. */
export const objectAt = (value: JsonObject | undefined, key: string): JsonObject => {
  const inner = ownMember(value, key);
  return isObject(inner) ? inner : {};
};

/** The list under `key`, or an empty one. */
export const listAt = (value: JsonObject | undefined, key: string): readonly unknown[] => {
  const inner = ownMember(value, key);
  return Array.isArray(inner) ? inner : [];
};

/** The objects of the list under `key`. */
export const objectsAt = (value: JsonObject | undefined, key: string): readonly JsonObject[] =>
  listAt(value, key).filter(isObject);

/** The text under `key`, or `''`. */
export const stringAt = (value: JsonObject | undefined, key: string): string => {
  const inner = ownMember(value, key);
  return typeof inner === 'string' ? inner : '';
};

/** Parts of an API object, or empty ones. */
export const metadataOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'metadata');
export const specOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'spec');
export const statusOf = (object: JsonObject | undefined): JsonObject => objectAt(object, 'status');

/** What an API object is called, or `''`. */
export const nameOf = (object: JsonObject | undefined): string => stringAt(metadataOf(object), 'name');
export const namespaceOf = (object: JsonObject | undefined): string =>
  stringAt(metadataOf(object), 'namespace');

/** A value that should be text, as text: others as JSON writes them, nothing as `''`. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** What stands under a path of member names; `undefined` where the path ends early. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (!isObject(at)) return undefined;
    at = ownMember(at, key);
  }
  return at;
}

/** Deep equality of JSON values; a member that is `undefined` counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a).filter((key) => ownMember(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => ownMember(b, key) !== undefined);
  return keys.length === others.length && keys.every((key) => sameJson(ownMember(a, key), ownMember(b, key)));
}

/** JSON with the members of every object in order: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .filter((key) => ownMember(value, key) !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(ownMember(value, key))}`);
  return `{${members.join(',')}}`;
}

/** The value without one member. */
export function without(value: JsonObject, ...keys: readonly string[]): Draft {
  const copy: Draft = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}

/** The object with other members of its spec. */
export const withSpec = (object: JsonObject, members: JsonObject): JsonObject => ({
  ...object,
  spec: { ...objectAt(object, 'spec'), ...members },
});

/** The object with new metadata members; `undefined` removes one. */
export function withMetadata(object: JsonObject, members: JsonObject): JsonObject {
  const metadata: Draft = { ...objectAt(object, 'metadata') };
  for (const [key, value] of Object.entries(members)) {
    if (value === undefined) delete metadata[key];
    else setOwn(metadata, key, value);
  }
  return { ...object, metadata };
}
