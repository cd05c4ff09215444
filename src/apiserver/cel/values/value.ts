import type { Type } from '../check/types.ts';

/** An evaluation that ended in an error; `||`, `&&` and the loops of macros may absorb it. */
export class EvalError extends Error {
  override readonly name = 'EvalError';
}

/** Returns the error for arguments that no overload takes. */
export const noOverload = (): EvalError => new EvalError('no such overload');

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** A point in time, in nanoseconds of the Unix epoch. */
export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A span of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A type as a value, as `type(x)` returns it. */
export class TypeValue {
  readonly type: Type;
  constructor(type: Type) {
    this.type = type;
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}
export const none: Optional = new Optional(undefined);

/** A list; its items may be made on demand. */
export abstract class CelList {
  abstract readonly size: number;
  /** Returns the item at an index that is in range. */
  abstract at(index: number): Value;
  /** Returns the list with the items of another; by default at its end. */
  plus(other: CelList): CelList {
    return new ArrayList([...this, ...other]);
  }
  /** Compares with another list; undefined: item by item. */
  sameAs(_other: CelList): boolean | undefined {
    return undefined;
  }
  *[Symbol.iterator](): Iterator<Value> {
    for (let i = 0; i < this.size; i++) yield this.at(i);
  }
}

export class ArrayList extends CelList {
  readonly items: readonly Value[];
  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }
  get size(): number {
    return this.items.length;
  }
  at(index: number): Value {
    return this.items[index] as Value;
  }
}

/** A map, or an object with declared fields. */
export abstract class CelMap {
  abstract readonly size: number;
  /** Returns the value of a key; undefined: there is none. @throws {EvalError} */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
  /** Compares with another map; undefined: entry by entry. */
  sameAs(_other: CelMap): boolean | undefined {
    return undefined;
  }
}

/** Returns what distinguishes a key of a map: numbers of any type that are the same value are the same key. */
export function keyOf(key: Value): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
  return typeof key === 'boolean' ? `b${key}` : undefined;
}

/** A map that an expression made. */
export class PlainMap extends CelMap {
  readonly #entries: ReadonlyMap<string, readonly [Value, Value]>;
  constructor(entries: ReadonlyMap<string, readonly [Value, Value]>) {
    super();
    this.#entries = entries;
  }
  get size(): number {
    return this.#entries.size;
  }
  find(key: Value): Value | undefined {
    return this.#entries.get(keyOf(key) ?? '')?.[1];
  }
  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }
  /** Returns the map with one more entry. @throws {EvalError} for a key that is there */
  with(key: Value, value: Value): PlainMap {
    const id = keyOf(key);
    if (id === undefined) throw new EvalError('unsupported key type');
    if (this.#entries.has(id)) throw new EvalError(`insert failed: key ${id.slice(1)} already exists`);
    return new PlainMap(new Map(this.#entries).set(id, [key, value]));
  }
}

/** A value of a library's own type. */
export abstract class Opaque {
  abstract readonly type: Type;
  /** Its size, for values whose calls cost by it. */
  readonly sizeInBytes?: number;
  /** Compares with a value of the same type. */
  abstract same(other: Opaque): boolean;
  /** Orders values of the same type, negative when this one comes first; absent: they have no order. */
  readonly order?: (other: Opaque) => number;
}

/** An object that an expression made of a declared type, as `Object{…}`. */
export class Struct {
  readonly type: Type;
  readonly fields: ReadonlyMap<string, Value>;
  constructor(type: Type, fields: ReadonlyMap<string, Value>) {
    this.type = type;
    this.fields = fields;
  }
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | CelList
  | CelMap
  | Opaque
  | Struct;
