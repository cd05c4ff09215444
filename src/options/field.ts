/** What a setting holds, in the words of Go's types, which are those of the kubelet's messages. */
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

/** A setting that has settings. `struct` and its package (default `v1beta1`) are Go's, for messages. */
export interface StructType {
  readonly struct: string;
  readonly package?: 'v1';
  readonly fields: Readonly<Record<string, Field>>;
}

/** A list of such. */
export interface ListType {
  readonly listOf: StructType;
  /** Go's name of the list, where it has one, and of what an item is called then. */
  readonly goType?: string;
}

/** One setting: the source of its schema, its default, its flag and its line in docs/options.md. */
export interface Field {
  readonly type: FieldType;
  /** Value when unset. */
  readonly default?: unknown;
  /** Zero (0, `""`, `0s`, `[]`) is a value of its own; without this, zero counts as unset. Go: a pointer. */
  readonly zeroIsSet?: boolean;
  /** Go's name of a type of its own, for messages. */
  readonly goType?: string;
  /** The kubelet's flag without dashes. */
  readonly flag?: string;
  /** What is allowed, where the type does not say it. */
  readonly allowed?: string;
  readonly about: string;
}
