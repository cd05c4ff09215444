import { CelList, CelMap, EvalError, Optional, Struct, Uint, type Value } from '../values/value.ts';
import { typeOf } from '../values/inspect.ts';
import { textOf } from '../values/text.ts';

const missing = (key: Value): EvalError => new EvalError(`no such key: ${textOf(key)}`);

/** Returns the value under a key, an index or a field's name. @throws {EvalError} if there is none */
export function select(value: Value, key: Value): Value {
  if (value instanceof CelMap) {
    const found = value.find(key);
    if (found === undefined) throw missing(key);
    return found;
  }
  if (value instanceof CelList) {
    const found = itemAt(value, key);
    if (found === undefined) throw new EvalError(`index out of bounds: ${textOf(key)}`);
    return found;
  }
  if (value instanceof Struct) return fieldOf(value, key) ?? null;
  throw missing(key);
}

/** Returns the value under a key; undefined if there is none. @throws {EvalError} for a key of a wrong type */
export function selectIfPresent(value: Value, key: Value): Value | undefined {
  if (value instanceof CelMap) return value.find(key);
  if (value instanceof CelList) return itemAt(value, key);
  if (value instanceof Optional)
    return value.value === undefined ? undefined : selectIfPresent(value.value, key);
  return value instanceof Struct ? fieldOf(value, key) : undefined;
}

const fieldOf = ({ fields }: Struct, key: Value): Value | undefined =>
  typeof key === 'string' ? fields.get(key) : undefined;

function itemAt(list: CelList, key: Value): Value | undefined {
  const index = indexOf(key);
  return index >= 0 && index < list.size ? list.at(index) : undefined;
}

function indexOf(key: Value): number {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (typeof key !== 'number') throw new EvalError(`unsupported index type '${typeOf(key).name}' in list`);
  if (!Number.isInteger(key)) throw new EvalError(`unsupported index value ${textOf(key)} in list`);
  return key;
}
