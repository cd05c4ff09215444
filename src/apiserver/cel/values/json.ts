import { ownMember } from '../../../base/own.ts';
import { isObject, type JsonObject } from '../../../apimachinery/json.ts';
import { Timestamp, CelList, CelMap, EvalError, type Value } from './value.ts';

/** Returns a JSON value without a schema as a value of an expression; its parts are made when they are used. */
export function fromJson(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'boolean' || value instanceof Timestamp) return value;
  if (Array.isArray(value)) return new JsonList(value);
  if (isObject(value)) return new JsonMap(value);
  throw new EvalError(`unsupported conversion to ref.Val: (${typeof value})`);
}

class JsonList extends CelList {
  readonly #items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
  }
  get size(): number {
    return this.#items.length;
  }
  at(index: number): Value {
    return fromJson(this.#items[index]);
  }
}

class JsonMap extends CelMap {
  readonly #members: JsonObject;
  constructor(members: JsonObject) {
    super();
    this.#members = members;
  }
  get size(): number {
    return Object.keys(this.#members).length;
  }
  find(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#members, key)) return undefined;
    return fromJson(ownMember(this.#members, key));
  }
  keys(): Iterable<Value> {
    return Object.keys(this.#members);
  }
}
