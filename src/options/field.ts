/** The type of a setting, named as in Go and in the kubelet's messages. */
export type FieldType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'verbosity'
  | 'int64'
  | 'float64'
  | 'duration'
  | 'duration or nanoseconds'
  | 'quantity'
  | '[]string'
  | '[]int32'
  | 'map[string]string'
  | 'map[string]bool'
  | 'map[string][]string'
  | 'map[string]quantity'
  | StructType
  | ListType;

/** A setting with members. `struct` and its package (default `v1beta1`) are Go's names, for messages. */
export interface StructType {
  readonly struct: string;
  readonly package?: 'v1';
  readonly fields: Readonly<Record<string, Field>>;
}

/** A list of structs. */
export interface ListType {
  readonly listOf: StructType;
  /** Go's name of the list type, if it has one. */
  readonly goType?: string;
}

/** A setting: the source of its schema, default, flag and line in docs/options.md. */
export interface Field {
  readonly type: FieldType;
  /** Default value. */
  readonly default?: unknown;
  /** Whether zero (0, `""`, `0s`, `[]`) is a value of its own; otherwise zero counts as unset. Go: a pointer. */
  readonly zeroIsSet?: boolean;
  /** Go's type name, for messages. */
  readonly goType?: string;
  /** The kubelet's flag, without dashes. */
  readonly flag?: string;
  /** The allowed values, where the type does not say it. */
  readonly allowed?: string;
  readonly about: string;
}
