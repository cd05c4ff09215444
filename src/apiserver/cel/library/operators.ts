import { func, type FunctionDecl, type Library, type Overload } from '../check/declarations.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  optionalType,
  paramType,
  stringType,
  timestampType,
  type Type,
  uintType,
} from '../check/types.ts';
import { isInt64, isUint64 } from '../syntax/literals.ts';
import { equal } from '../values/compare.ts';
import { CelList, CelMap, Duration, EvalError, Timestamp, Uint, type Value } from '../values/value.ts';

const a = paramType('A');
const b = paramType('B');

const int = (value: bigint): bigint => {
  if (!isInt64(value)) throw new EvalError('integer overflow');
  return value;
};
const uint = (value: bigint): Uint => {
  if (!isUint64(value)) throw new EvalError('unsigned integer overflow');
  return new Uint(value);
};
const duration = (nanos: bigint): Duration => {
  if (!isInt64(nanos)) throw new EvalError('duration overflow');
  return new Duration(nanos);
};

const perSecond = 1_000_000_000n;
const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;

/** Returns a time of the years 1 to 9999. @throws {EvalError} for any other */
export function timestamp(nanos: bigint): Timestamp {
  if (nanos < firstSecond * perSecond || nanos >= (lastSecond + 1n) * perSecond)
    throw new EvalError('timestamp overflow');
  return new Timestamp(nanos);
}

const notZero = (value: bigint, operation: string): bigint => {
  if (value === 0n) throw new EvalError(`${operation} by zero`);
  return value;
};

type Run = NonNullable<Overload['run']>;
const ints =
  (run: (x: bigint, y: bigint) => bigint): Run =>
  (x, y) =>
    int(run(x as bigint, y as bigint));
const uints =
  (run: (x: bigint, y: bigint) => bigint): Run =>
  (x, y) =>
    uint(run((x as Uint).value, (y as Uint).value));
const doubles =
  (run: (x: number, y: number) => number): Run =>
  (x, y) =>
    run(x as number, y as number);
const nanosOf = (value: Value): bigint => (value as Duration | Timestamp).nanos;

const pair = (type: Type): [Type, Type] => [type, type];

const addition = func(
  '_+_',
  ['add_bytes', pair(bytesType), bytesType, (x, y) => Buffer.concat([x as Uint8Array, y as Uint8Array])],
  ['add_double', pair(doubleType), doubleType, doubles((x, y) => x + y)],
  ['add_duration_duration', pair(durationType), durationType, (x, y) => duration(nanosOf(x) + nanosOf(y))],
  [
    'add_duration_timestamp',
    [durationType, timestampType],
    timestampType,
    (x, y) => timestamp(nanosOf(x) + nanosOf(y)),
  ],
  [
    'add_timestamp_duration',
    [timestampType, durationType],
    timestampType,
    (x, y) => timestamp(nanosOf(x) + nanosOf(y)),
  ],
  ['add_int64', pair(intType), intType, ints((x, y) => x + y)],
  ['add_list', pair(listType(a)), listType(a), (x, y) => (x as CelList).plus(y as CelList)],
  ['add_string', pair(stringType), stringType, (x, y) => (x as string) + (y as string)],
  ['add_uint64', pair(uintType), uintType, uints((x, y) => x + y)],
);

const subtraction = func(
  '_-_',
  ['subtract_double', pair(doubleType), doubleType, doubles((x, y) => x - y)],
  [
    'subtract_duration_duration',
    pair(durationType),
    durationType,
    (x, y) => duration(nanosOf(x) - nanosOf(y)),
  ],
  ['subtract_int64', pair(intType), intType, ints((x, y) => x - y)],
  [
    'subtract_timestamp_duration',
    [timestampType, durationType],
    timestampType,
    (x, y) => timestamp(nanosOf(x) - nanosOf(y)),
  ],
  [
    'subtract_timestamp_timestamp',
    pair(timestampType),
    durationType,
    (x, y) => duration(nanosOf(x) - nanosOf(y)),
  ],
  ['subtract_uint64', pair(uintType), uintType, uints((x, y) => x - y)],
);

const arithmetic: readonly FunctionDecl[] = [
  addition,
  subtraction,
  func(
    '_*_',
    ['multiply_double', pair(doubleType), doubleType, doubles((x, y) => x * y)],
    ['multiply_int64', pair(intType), intType, ints((x, y) => x * y)],
    ['multiply_uint64', pair(uintType), uintType, uints((x, y) => x * y)],
  ),
  func(
    '_/_',
    ['divide_double', pair(doubleType), doubleType, doubles((x, y) => x / y)],
    ['divide_int64', pair(intType), intType, ints((x, y) => x / notZero(y, 'division'))],
    ['divide_uint64', pair(uintType), uintType, uints((x, y) => x / notZero(y, 'division'))],
  ),
  func(
    '_%_',
    ['modulo_int64', pair(intType), intType, ints((x, y) => x % notZero(y, 'modulus'))],
    ['modulo_uint64', pair(uintType), uintType, uints((x, y) => x % notZero(y, 'modulus'))],
  ),
  func(
    '-_',
    ['negate_double', [doubleType], doubleType, (x) => -(x as number)],
    ['negate_int64', [intType], intType, (x) => int(-(x as bigint))],
  ),
];

const ordered: readonly (readonly [string, Type])[] = [
  ['bool', boolType],
  ['int64', intType],
  ['uint64', uintType],
  ['double', doubleType],
  ['string', stringType],
  ['bytes', bytesType],
  ['timestamp', timestampType],
  ['duration', durationType],
];
const numbers = ordered.slice(1, 4);

/** An order of values of the same type, and of numbers of any; the evaluation does it itself. */
function order(name: string, id: string): FunctionDecl {
  const same = ordered.map(([of, type]) => [`${id}_${of}`, pair(type), boolType] as const);
  const mixed = numbers.flatMap(([left, from]) =>
    numbers.flatMap(([right, to]) =>
      left === right ? [] : [[`${id}_${left}_${right}`, [from, to], boolType] as const],
    ),
  );
  return func(name, ...same, ...mixed);
}

function contains(list: CelList, value: Value): boolean {
  for (const item of list) if (equal(item, value)) return true;
  return false;
}

/** Operators. Those without a function here are evaluated by the plan itself. */
export const operators: Library = {
  functions: [
    ...arithmetic,
    func('_?_:_', ['conditional', [boolType, a, a], a]),
    func('_&&_', ['logical_and', pair(boolType), boolType]),
    func('_||_', ['logical_or', pair(boolType), boolType]),
    func('!_', ['logical_not', [boolType], boolType, (x) => !(x as boolean)]),
    func('@not_strictly_false', ['not_strictly_false', [boolType], boolType]),
    func('_==_', ['equals', pair(a), boolType]),
    func('_!=_', ['not_equals', pair(a), boolType]),
    order('_<_', 'less'),
    order('_<=_', 'less_equals'),
    order('_>_', 'greater'),
    order('_>=_', 'greater_equals'),
    func(
      '_[_]',
      ['index_list', [listType(a), intType], a],
      ['index_map', [mapType(a, b), a], b],
      ['optional_list_index_int', [optionalType(listType(a)), intType], optionalType(a)],
      ['optional_map_index_value', [optionalType(mapType(a, b)), a], optionalType(b)],
    ),
    func('_?._', ['select_optional_field', [dynType, stringType], optionalType(b)]),
    func(
      '_[?_]',
      ['list_optindex_optional_int', [listType(b), intType], optionalType(b)],
      ['optional_list_optindex_optional_int', [optionalType(listType(b)), intType], optionalType(b)],
      ['map_optindex_optional_value', [mapType(a, b), a], optionalType(b)],
      ['optional_map_optindex_optional_value', [optionalType(mapType(a, b)), a], optionalType(b)],
    ),
    func(
      '@in',
      ['in_list', [a, listType(a)], boolType, (x, list) => contains(list as CelList, x)],
      ['in_map', [a, mapType(a, b)], boolType, (x, map) => (map as CelMap).find(x) !== undefined],
    ),
  ],
};
