import { sameType } from '../check/types.ts';
import {
  CelList,
  CelMap,
  Duration,
  EvalError,
  noOverload,
  Opaque,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';

/** Returns a number of any type; undefined for any other value. */
function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

const pointOf = (value: Value): bigint | undefined =>
  value instanceof Timestamp || value instanceof Duration ? value.nanos : undefined;

/** Reports whether two values are equal; values of different types are not, except for numbers. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined) return right !== undefined && left == right;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return equalObjects(a, b);
}

function equalObjects(a: Value & object, b: Value & object): boolean {
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b);
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  return equalPoints(a, b) ?? equalOthers(a, b);
}

/** Compares times and durations; undefined for other values. */
function equalPoints(a: Value & object, b: Value & object): boolean | undefined {
  const nanos = pointOf(a);
  if (nanos === undefined) return undefined;
  return a instanceof Timestamp === b instanceof Timestamp && nanos === pointOf(b);
}

function equalOthers(a: Value & object, b: Value & object): boolean {
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name;
  if (a instanceof Opaque) return b instanceof Opaque && sameType(a.type, b.type) && a.same(b);
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b);
  return a instanceof Struct && b instanceof Struct && equalStructs(a, b);
}

const equalOptionals = (a: Optional, b: Optional): boolean =>
  a.value === undefined || b.value === undefined ? a.value === b.value : equal(a.value, b.value);

const equalStructs = (a: Struct, b: Struct): boolean =>
  a.fields.size === b.fields.size &&
  [...a.fields].every(([name, value]) => {
    const other = b.fields.get(name);
    return other !== undefined && equal(value, other);
  });

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false;
  const own = a.sameAs(b);
  if (own !== undefined) return own;
  for (let i = 0; i < a.size; i++) if (!equal(a.at(i), b.at(i))) return false;
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false;
  const own = a.sameAs(b);
  if (own !== undefined) return own;
  for (const key of a.keys()) {
    const other = b.find(key);
    const mine = a.find(key);
    if (other === undefined || mine === undefined || !equal(mine, other)) return false;
  }
  return true;
}

const sign = <T extends bigint | number | string | boolean>(a: T, b: T): number =>
  a < b ? -1 : Number(a > b);

/** Compares texts by their code points, as Go compares their bytes. */
export const compareText = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++)
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return sign(a.codePointAt(i) ?? 0, b.codePointAt(i) ?? 0);
  return sign(a.length, b.length);
};

/** Orders two values of the same type, or two numbers. @throws {EvalError} for values without an order */
export function compare(a: Value, b: Value): number {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return compareNumbers(left, right);
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return sign(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  const order = orderOfPoints(a, b) ?? orderOfOpaque(a, b);
  if (order !== undefined) return order;
  throw noOverload();
}

/** Orders two times or two durations; undefined for other values. */
function orderOfPoints(a: Value, b: Value): number | undefined {
  const [from, to] = [pointOf(a), pointOf(b)];
  const isSame = a instanceof Timestamp === b instanceof Timestamp;
  return from !== undefined && to !== undefined && isSame ? sign(from, to) : undefined;
}

/** Orders two values of a library's type; undefined for values without an order. */
function orderOfOpaque(a: Value, b: Value): number | undefined {
  const isSame = a instanceof Opaque && b instanceof Opaque && sameType(a.type, b.type);
  return isSame ? a.order?.(b) : undefined;
}

function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) throw new EvalError('NaN values cannot be ordered');
  return a < b ? -1 : Number(a > b);
}
