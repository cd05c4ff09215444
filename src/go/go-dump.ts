/** Go's types as a dump needs them. */
export interface GoTypes {
  /** Fields of each struct in their order: name, JSON name (none: the fields of an embedded struct) and type, e.g. `Name name string`. */
  readonly structs: Readonly<Record<string, readonly string[]>>;
  /** The types that named ones are made of: `v1.ResourceList` is `map[v1.ResourceName]resource.Quantity`. */
  readonly named: Readonly<Record<string, string>>;
  /** What is printed for the values of other types, without the type itself. */
  readonly leaves: Readonly<Record<string, (value: unknown) => string>>;
}

const compareBytes = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8'));

/**
 * Returns a JSON value of a Go type as `go-spew` formats it with `%#v`, sorted keys, and without methods, addresses and capacities, which
 * is what Kubernetes hashes (`hash.DeepHashObject`). Empty lists and maps are nil, as they are after a transfer in protobuf.
 */
export function goDump(value: unknown, type: string, types: GoTypes): string {
  return dump(value, type, { types, showsType: true });
}

interface Style {
  readonly types: GoTypes;
  /** False for members of lists, keys and values of maps and what a pointer points to: their type has been printed with the whole. */
  readonly showsType: boolean;
}

function dump(value: unknown, type: string, style: Style): string {
  const { types, showsType } = style;
  if (type.startsWith('*')) return pointer(value, type.slice(1), style);
  const prefix = showsType ? `(${type})` : '';
  const leaf = types.leaves[type];
  if (leaf) return `${prefix}${leaf(value)}`;
  const fields = types.structs[type];
  if (fields) return `${prefix}${struct(value, fields, types)}`;
  return `${prefix}${plain(value, types.named[type] ?? type, types)}`;
}

function pointer(value: unknown, type: string, { types, showsType }: Style): string {
  const isNil = value === undefined || value === null;
  if (!showsType) return isNil ? '<nil>' : `<*>${dump(value, type, { types, showsType: false })}`;
  return isNil ? `(*${type})<nil>` : `(*${type})${dump(value, type, { types, showsType: false })}`;
}

function struct(value: unknown, fields: readonly string[], types: GoTypes): string {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  const texts = fields.map((field) => {
    const [name = '', json = '', type = ''] = field.split(' ');
    return `${name}:${dump(json === '' ? members : members[json], type, { types, showsType: true })}`;
  });
  return `{${texts.join(' ')}}`;
}

function plain(value: unknown, type: string, types: GoTypes): string {
  if (type.startsWith('[]')) return list(value, type.slice(2), types);
  const [, of] = /^map\[[^\]]*\](.*)$/.exec(type) ?? [];
  if (of !== undefined) return map(value, of, types);
  if (type === 'string') return typeof value === 'string' ? value : '';
  if (type === 'bool') return value === true ? 'true' : 'false';
  return typeof value === 'number' ? String(value) : '0';
}

function list(value: unknown, of: string, types: GoTypes): string {
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (items.length === 0) return '<nil>';
  return `[${items.map((item) => dump(item, of, { types, showsType: false })).join(' ')}]`;
}

function map(value: unknown, of: string, types: GoTypes): string {
  const entries = Object.entries(value ?? {}).sort(([one], [other]) => compareBytes(one, other));
  if (entries.length === 0) return '<nil>';
  const texts = entries.map(([key, item]) => `${key}:${dump(item, of, { types, showsType: false })}`);
  return `map[${texts.join(' ')}]`;
}
