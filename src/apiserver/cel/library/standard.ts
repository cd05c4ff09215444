import { func, type FunctionDecl, type Library, method } from '../check/declarations.ts';
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
  opaqueType,
  paramType,
  stringType,
  timestampType,
  type Type,
  typeOfType,
  typeType,
  uintType,
} from '../check/types.ts';
import { runeCount, typeOf } from '../values/inspect.ts';
import { type CelList, type CelMap, TypeValue, type Value } from '../values/value.ts';
import { toBool, toBytes, toDouble, toDuration, toInt, toText, toTimestamp, toUint } from './conversions.ts';
import { regexMatches } from './regex.ts';
import { timeFunctions } from './times.ts';

const a = paramType('A');
const b = paramType('B');

const sizes = (isMember: boolean): FunctionDecl => {
  const suffix = isMember ? '_inst' : '';
  const of = isMember ? method : func;
  return of(
    'size',
    [`size_bytes${suffix}`, [bytesType], intType, (x) => BigInt((x as Uint8Array).length)],
    [`size_list${suffix}`, [listType(a)], intType, (x) => BigInt((x as CelList).size)],
    [`size_map${suffix}`, [mapType(a, b)], intType, (x) => BigInt((x as CelMap).size)],
    [`size_string${suffix}`, [stringType], intType, (x) => BigInt(runeCount(x as string))],
  );
};

/** A conversion: from each type by its name in overload ids. */
function conversion(
  name: string,
  to: Type,
  from: Readonly<Record<string, Type>>,
  run: (value: Value) => Value,
): FunctionDecl {
  return func(
    name,
    ...Object.entries(from).map(([id, type]) => [`${id}_to_${name}`, [type], to, run] as const),
  );
}

const conversions: readonly FunctionDecl[] = [
  func('type', ['type', [a], typeOfType(a), (x) => new TypeValue(typeOf(x))]),
  func('dyn', ['to_dyn', [a], dynType, (x) => x]),
  conversion('bool', boolType, { bool: boolType, string: stringType }, toBool),
  conversion('bytes', bytesType, { bytes: bytesType, string: stringType }, toBytes),
  conversion(
    'double',
    doubleType,
    { double: doubleType, int64: intType, string: stringType, uint64: uintType },
    toDouble,
  ),
  conversion(
    'duration',
    durationType,
    { duration: durationType, int64: intType, string: stringType },
    toDuration,
  ),
  conversion(
    'int',
    intType,
    {
      int64: intType,
      double: doubleType,
      duration: durationType,
      string: stringType,
      timestamp: timestampType,
      uint64: uintType,
    },
    toInt,
  ),
  conversion(
    'string',
    stringType,
    {
      string: stringType,
      bool: boolType,
      bytes: bytesType,
      double: doubleType,
      duration: durationType,
      int64: intType,
      timestamp: timestampType,
      uint64: uintType,
    },
    toText,
  ),
  conversion(
    'timestamp',
    timestampType,
    { timestamp: timestampType, int64: intType, string: stringType },
    toTimestamp,
  ),
  conversion(
    'uint',
    uintType,
    { uint64: uintType, double: doubleType, int64: intType, string: stringType },
    toUint,
  ),
];

const texts: readonly FunctionDecl[] = [
  method('contains', [
    'contains_string',
    [stringType, stringType],
    boolType,
    (x, y) => (x as string).includes(y as string),
  ]),
  method('startsWith', [
    'starts_with_string',
    [stringType, stringType],
    boolType,
    (x, y) => (x as string).startsWith(y as string),
  ]),
  method('endsWith', [
    'ends_with_string',
    [stringType, stringType],
    boolType,
    (x, y) => (x as string).endsWith(y as string),
  ]),
  func('matches', [
    'matches',
    [stringType, stringType],
    boolType,
    (x, y) => regexMatches(x as string, y as string),
  ]),
  method('matches', [
    'matches_string',
    [stringType, stringType],
    boolType,
    (x, y) => regexMatches(x as string, y as string),
  ]),
];

/** The standard functions and types of CEL. */
export const standard: Library = {
  functions: [sizes(false), sizes(true), ...conversions, ...texts, ...timeFunctions],
  types: [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    listType(a),
    mapType(a, b),
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
    dynType,
    opaqueType('optional_type', a),
  ],
};
