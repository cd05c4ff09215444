import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  type Type,
  typeType,
  uintType,
} from '../check/types.ts';
import {
  CelList,
  CelMap,
  Duration,
  none,
  Opaque,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';

const list = listType(dynType);
const map = mapType(dynType, dynType);
const optional = optionalType(dynType);

/** Returns the type of a value as `type(x)` does: without what lists and maps hold. */
export function typeOf(value: Value): Type {
  if (value === null) return nullType;
  switch (typeof value) {
    case 'boolean':
      return boolType;
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
    default:
      return typeOfObject(value);
  }
}

function typeOfObject(value: Exclude<Value, null | boolean | bigint | number | string>): Type {
  if (value instanceof CelList) return list;
  if (value instanceof CelMap) return map;
  if (value instanceof Opaque || value instanceof Struct) return value.type;
  if (value instanceof Timestamp) return timestampType;
  if (value instanceof Duration) return durationType;
  if (value instanceof Uint) return uintType;
  if (value instanceof Optional) return optional;
  return value instanceof TypeValue ? typeType : bytesType;
}

/** Reports whether a value can be an argument of a declared type. */
export function fits(value: Value, type: Type): boolean {
  if (type.kind === 'dyn' || type.kind === 'param') return true;
  const own = typeOf(value);
  if (own.kind !== type.kind) return false;
  const [item] = type.params;
  if (value instanceof CelList && item && item.kind !== 'list' && value.size > 0)
    return fits(value.at(0), item);
  return type.kind === 'opaque' || type.kind === 'struct' ? own.name === type.name : true;
}

/** Returns the number of a text's code points. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++)
    if ((text.charCodeAt(i) & 0xfc_00) === 0xd8_00 && (text.charCodeAt(i + 1) & 0xfc_00) === 0xdc_00) count--;
  return count;
}

/** Returns the size that costs go by: characters, bytes, items; 1 for anything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return runeCount(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Opaque) return value.sizeInBytes ?? 1;
  if (value instanceof Uint8Array) return value.length;
  return value instanceof Optional && value.value !== undefined ? sizeOf(value.value) : 1;
}

/** Reports whether a value is what its type starts with: false, zero, empty. */
export function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === '') return true;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Uint) return value.value === 0n;
  return value === none || (value instanceof Duration && value.nanos === 0n);
}
