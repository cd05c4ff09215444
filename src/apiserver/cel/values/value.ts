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
    if (this.size + other.size <= mostCopied) return new CollectedList([...this, ...other]);
    return new JoinedList(this, other);
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

/** Up to so many items of a list are copied when it is added to another. */
const mostCopied = 32;

/**
 * A list that collects items, as the loops of macros do. Sums share their items: the first sum of a list is made in the time that the other
 * one takes, so that such a loop is linear.
 */
class CollectedList extends CelList {
  /** The list's items; behind them those that were added to it. */
  readonly #items: Value[];
  readonly size: number;
  constructor(items: Value[], size: number = items.length) {
    super();
    this.#items = items;
    this.size = size;
  }
  at(index: number): Value {
    return this.#items[index] as Value;
  }
  override plus(other: CelList): CelList {
    const { size } = other;
    if (this.#items.length > this.size || size > mostCopied) return super.plus(other);
    for (let i = 0; i < size; i++) this.#items.push(other.at(i));
    return new CollectedList(this.#items, this.size + size);
  }
}

/** The sum of two lists, of which one is long: nothing is copied. */
class JoinedList extends CelList {
  readonly #first: CelList;
  readonly #second: CelList;
  constructor(first: CelList, second: CelList) {
    super();
    this.#first = first;
    this.#second = second;
  }
  get size(): number {
    return this.#first.size + this.#second.size;
  }
  at(index: number): Value {
    const { size } = this.#first;
    return index < size ? this.#first.at(index) : this.#second.at(index - size);
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

/** An entry of a map that an expression made, and its place among the others. */
interface Entry {
  readonly key: Value;
  readonly value: Value;
  readonly place: number;
}

/**
 * A map that an expression made. Maps that got an entry share the others, so that loops that collect entries are linear.
 */
export class PlainMap extends CelMap {
  /** The map's entries; behind them those of maps that were made of it. */
  readonly #entries: ReadonlyMap<string, Entry>;
  /** The same where further entries may be put behind; absent: a copy is made. */
  readonly #shared: Map<string, Entry> | undefined;
  readonly size: number;

  private constructor(entries: ReadonlyMap<string, Entry>, size: number, shared?: Map<string, Entry>) {
    super();
    this.#entries = entries;
    this.#shared = shared;
    this.size = size;
  }

  /** Makes a map of entries by what distinguishes their keys. */
  static of(entries: ReadonlyMap<string, readonly [Value, Value]>): PlainMap {
    const placed = [...entries].map(([id, [key, value]], place) => [id, { key, value, place }] as const);
    return new PlainMap(new Map(placed), placed.length);
  }

  #entry(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry && entry.place < this.size ? entry : undefined;
  }
  find(key: Value): Value | undefined {
    return this.#entry(keyOf(key) ?? '')?.value;
  }
  *keys(): Iterable<Value> {
    for (const { key, place } of this.#entries.values()) {
      if (place >= this.size) return;
      yield key;
    }
  }
  /** Returns the map with one more entry. @throws {EvalError} for a key that is there */
  with(key: Value, value: Value): PlainMap {
    const id = keyOf(key);
    if (id === undefined) throw new EvalError('unsupported key type');
    if (this.#entry(id)) throw new EvalError(`insert failed: key ${id.slice(1)} already exists`);
    const entries = this.#shared?.size === this.size ? this.#shared : this.#copy();
    entries.set(id, { key, value, place: this.size });
    return new PlainMap(entries, this.size + 1, entries);
  }

  #copy(): Map<string, Entry> {
    const copy = new Map<string, Entry>();
    for (const [id, entry] of this.#entries) {
      if (entry.place >= this.size) break;
      copy.set(id, entry);
    }
    return copy;
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
