import { ownMember } from '../../../base/own.ts';
import { isObject, type JsonObject } from '../../../apimachinery/json.ts';
import { stringOf } from './text.ts';
import { CelList, CelMap, EvalError, Optional, Struct, Timestamp, Uint, type Value } from './value.ts';

/** Returns a JSON value without a schema as a value of an expression; its parts are made when they are used. */
export function fromJson(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'boolean' || value instanceof Timestamp) return value;
  if (Array.isArray(value)) return new JsonList(value);
  if (isObject(value)) return new JsonMap(value);
  throw new EvalError(`unsupported conversion to ref.Val: (${typeof value})`);
}

/** Returns a value as JSON. @throws {EvalError} for one that has no form in JSON */
export function toJson(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof CelList) return Array.from(value, toJson);
  if (value instanceof CelMap)
    return Object.fromEntries(
      Array.from(value.keys(), (key) => [stringOf(key), toJson(value.find(key) ?? null)]),
    );
  if (value instanceof Struct)
    return Object.fromEntries(Array.from(value.fields, ([name, field]) => [name, toJson(field)]));
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : stringOf(value);
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
