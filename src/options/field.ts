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
  | 'map[string]string'
  | 'map[string]bool'
  | 'map[string][]string'
  | 'map[string]quantity'
  | StructType
  | ListType;

/** A setting that has settings. `name` is Go's, for messages. */
export interface StructType {
  readonly struct: string;
  readonly fields: Readonly<Record<string, Field>>;
}

/** A list of such. */
export interface ListType {
  readonly listOf: StructType;
}

/** One setting: the source of its schema, its default, its flag and its line in docs/options.md. */
export interface Field {
  readonly type: FieldType;
  /** Value when unset. */
  readonly default?: unknown;
  /** Zero (0, `""`, `0s`, `[]`) is a value of its own; without this, zero counts as unset. Go: a pointer. */
  readonly zeroIsSet?: boolean;
  /** The kubelet's flag without dashes. */
  readonly flag?: string;
  /** What is allowed, where the type does not say it. */
  readonly allowed?: string;
  readonly about: string;
}
