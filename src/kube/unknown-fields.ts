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
  const known =
    tables.get(struct) ?? new Map(row.split(' ').map((entry) => splitAt(entry, entry.indexOf(':'))));
  tables.set(struct, known);
  return known;
}

const splitAt = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at + 1)];

/** Every field of a JSON value that a Kubernetes struct does not have, in the order of the text; names are case-sensitive. */
export function unknownFields(value: unknown, struct: string): readonly UnknownField[] {
  const found: UnknownField[] = [];
  walk(value, struct, { field: '', path: [] }, found);
  return found;
}

function walk(value: unknown, type: string, at: UnknownField, found: UnknownField[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (type.startsWith('[]')) {
    if (Array.isArray(value))
      for (const [i, item] of value.entries())
        walk(item, type.slice(2), { field: `${at.field}[${i}]`, path: [...at.path, i] }, found);
    return;
  }
  const inner = type.startsWith('map:') ? type.slice('map:'.length) : undefined;
  const fields = inner === undefined ? fieldsOf(type) : undefined;
  if ((!fields && inner === undefined) || Array.isArray(value)) return;
  for (const [key, item] of Object.entries(value)) {
    const place = { field: at.field === '' ? key : `${at.field}.${key}`, path: [...at.path, key] };
    const next = inner ?? fields?.get(key);
    if (next !== undefined) walk(item, next, place, found);
    else if (at.field !== '' || (key !== 'apiVersion' && key !== 'kind')) found.push(place);
  }
}
