type Kind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'bytes'
  | 'double'
  | 'int'
  | 'uint'
  | 'string'
  | 'timestamp'
  | 'duration'
  | 'list'
  | 'map'
  | 'type'
  | 'opaque'
  | 'struct'
  | 'param';

/** A CEL type. */
export interface Type {
  readonly kind: Kind;
  /** The name that `type(x)` and messages show. */
  readonly name: string;
  readonly params: readonly Type[];
  /** Returns the type of a field of a struct; undefined for a field that is not declared. */
  readonly fieldOf?: (name: string) => Type | undefined;
}

const simple = (kind: Kind, name: string = kind): Type => ({ kind, name, params: [] });

export const dynType: Type = simple('dyn');
export const errorType: Type = simple('error', '!error!');
export const nullType: Type = simple('null', 'null_type');
export const boolType: Type = simple('bool');
export const bytesType: Type = simple('bytes');
export const doubleType: Type = simple('double');
export const intType: Type = simple('int');
export const uintType: Type = simple('uint');
export const stringType: Type = simple('string');
export const timestampType: Type = simple('timestamp', 'google.protobuf.Timestamp');
export const durationType: Type = simple('duration', 'google.protobuf.Duration');
export const typeType: Type = simple('type');

export const listType = (of: Type): Type => ({ kind: 'list', name: 'list', params: [of] });
export const mapType = (key: Type, value: Type): Type => ({ kind: 'map', name: 'map', params: [key, value] });
export const paramType = (name: string): Type => simple('param', name);
export const opaqueType = (name: string, ...params: Type[]): Type => ({ kind: 'opaque', name, params });
export const typeOfType = (of: Type): Type => ({ kind: 'type', name: 'type', params: [of] });
export const optionalType = (of: Type): Type => opaqueType('optional_type', of);
/** Returns a type with declared fields. */
export const structType = (name: string, fieldOf: (name: string) => Type | undefined): Type => ({
  kind: 'struct',
  name,
  params: [],
  fieldOf,
});
/** Returns a type of a library that has functions only: it has no fields to look for. */
export const libraryType = (name: string): Type => ({ kind: 'struct', name, params: [] });

export const isDyn = ({ kind }: Type): boolean => kind === 'dyn';
export const isDynOrError = ({ kind }: Type): boolean => kind === 'dyn' || kind === 'error';
export const isOptional = (type: Type): boolean => type.kind === 'opaque' && type.name === 'optional_type';

/** Returns the type in an optional; undefined for any other. */
export const inOptional = (type: Type): Type | undefined => (isOptional(type) ? type.params[0] : undefined);

/** Reports whether two types are the same, also by the names of their parameters. */
export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((one, i) => sameType(one, b.params[i] ?? errorType));
}

const shortNames: Readonly<Partial<Record<Kind, string>>> = {
  null: 'null',
  timestamp: 'timestamp',
  duration: 'duration',
};

/** Returns a type as messages show it. */
export function typeText(type: Type): string {
  const name = shortNames[type.kind] ?? type.name;
  return type.params.length === 0 ? name : `${name}(${type.params.map(typeText).join(', ')})`;
}

/** Returns the types of a call as messages show them. */
export function signatureText(types: readonly Type[], isMember: boolean): string {
  const [target, ...rest] = types;
  const shown = (of: readonly Type[]): string => `(${of.map(typeText).join(', ')})`;
  return isMember && target ? `${typeText(target)}.${shown(rest)}` : shown(types);
}
