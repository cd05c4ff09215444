import { podStructs } from './pod-structs.ts';

/** A field that the API does not have. */
export interface UnknownField {
  /** `spec.containers[0].imge` */
  readonly field: string;
  readonly path: readonly (string | number)[];
}

const tables = new Map<string, ReadonlyMap<string, string>>();

function fieldsOf(struct: string): ReadonlyMap<string, string> | undefined {
  const row = podStructs[struct];
  if (row === undefined) return undefined;
  const types =
    tables.get(struct) ?? new Map(row.split(' ').map((entry) => splitAt(entry, entry.indexOf(':'))));
  tables.set(struct, types);
  return types;
}

const splitAt = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at + 1)];

/** Returns every field of a JSON value that a Kubernetes struct does not have, in text order; names are case-sensitive. */
export function unknownFields(value: unknown, struct: string): readonly UnknownField[] {
  const found: UnknownField[] = [];
  walk(value, struct, { field: '', path: [] }, found);
  return found;
}

function walk(value: unknown, type: string, at: UnknownField, found: UnknownField[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) walkList(value, type, at, found);
  else if (!type.startsWith('[]')) walkFields(value, type, at, found);
}

function walkList(list: readonly unknown[], type: string, at: UnknownField, found: UnknownField[]): void {
  if (!type.startsWith('[]')) return;
  for (const [i, item] of list.entries())
    walk(item, type.slice(2), { field: `${at.field}[${i}]`, path: [...at.path, i] }, found);
}

function walkFields(value: object, type: string, at: UnknownField, found: UnknownField[]): void {
  const typeOf = typesOf(type);
  if (!typeOf) return;
  const root = at.field === '';
  for (const [key, item] of Object.entries(value)) {
    const place = { field: root ? key : `${at.field}.${key}`, path: [...at.path, key] };
    const next = typeOf(key);
    if (next !== undefined) walk(item, next, place, found);
    else if (!root || !typeMeta.has(key)) found.push(place);
  }
}

const typeMeta: ReadonlySet<string> = new Set(['apiVersion', 'kind']);

/** Returns the types of a struct's fields, or of every value of a map. */
function typesOf(type: string): ((key: string) => string | undefined) | undefined {
  if (type.startsWith('map:')) return () => type.slice('map:'.length);
  const fields = fieldsOf(type);
  return fields && ((key) => fields.get(key));
}
