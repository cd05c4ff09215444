import { func, type Library, method } from '../check/declarations.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  durationType,
  intType,
  listType,
  mapType,
  paramType,
  stringType,
  timestampType,
  type Type,
  uintType,
} from '../check/types.ts';
import { compare, equal } from '../values/compare.ts';
import { typeOf } from '../values/inspect.ts';
import { CelList, type CelMap, Duration, EvalError, PlainMap, Uint, type Value } from '../values/value.ts';
import { operators } from './operators.ts';
import { listOf } from './strings.ts';

const t = paramType('T');
const list = listType(t);
const k = paramType('K');
const v = paramType('V');
const mapKV = mapType(k, v);

const addition = operators.functions.find(({ name }) => name === '_+_');

/** Adds two values of the same type. */
function add(a: Value, b: Value): Value {
  const { name } = typeOf(a);
  const own = addition?.overloads.find(({ params }) => params[0]?.name === name && params[1]?.name === name);
  return own?.run?.(a, b) ?? null;
}

const summable: readonly (readonly [string, Type, Value])[] = [
  ['int', intType, 0n],
  ['uint', uintType, new Uint(0n)],
  ['double', doubleType, 0],
  ['duration', durationType, new Duration(0n)],
];
const comparable: readonly (readonly [string, Type])[] = [
  ...summable.map(([name, type]) => [name, type] as const),
  ['bool', boolType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
];

function isSorted(items: Value): Value {
  let previous: Value | undefined;
  for (const item of items as CelList) {
    if (previous !== undefined && compare(previous, item) > 0) return false;
    previous = item;
  }
  return true;
}

function extreme(items: Value, name: string, sign: 1 | -1): Value {
  let best: Value | undefined;
  for (const item of items as CelList) if (best === undefined || compare(item, best) * sign > 0) best = item;
  if (best === undefined) throw new EvalError(`${name} called on empty list`);
  return best;
}

function indexOf(items: Value, target: Value): Value {
  let index = 0;
  for (const item of items as CelList) {
    if (equal(item, target)) return BigInt(index);
    index++;
  }
  return -1n;
}

function lastIndexOf(items: Value, target: Value): Value {
  const values = items as CelList;
  for (let i = values.size - 1; i >= 0; i--) if (equal(values.at(i), target)) return BigInt(i);
  return -1n;
}

const each = (name: string, of: string): string => `list_${name}_${of}`;

/** Kubernetes' functions on lists. */
const kubernetes: Library['functions'] = [
  method(
    'isSorted',
    ...comparable.map(
      ([name, type]) => [each(name, 'is_sorted_bool'), [listType(type)], boolType, isSorted] as const,
    ),
  ),
  method(
    'sum',
    ...summable.map(
      ([name, type, zero]) =>
        [
          each(name, `sum_${name}`),
          [listType(type)],
          type,
          (items: Value) => [...(items as CelList)].reduce(add, zero),
        ] as const,
    ),
  ),
  method(
    'max',
    ...comparable.map(
      ([name, type]) =>
        [
          each(name, `max_${name}`),
          [listType(type)],
          type,
          (items: Value) => extreme(items, 'max', 1),
        ] as const,
    ),
  ),
  method(
    'min',
    ...comparable.map(
      ([name, type]) =>
        [
          each(name, `min_${name}`),
          [listType(type)],
          type,
          (items: Value) => extreme(items, 'min', -1),
        ] as const,
    ),
  ),
  method('indexOf', ['list_a_index_of_int', [list, t], intType, indexOf]),
  method('lastIndexOf', ['list_a_last_index_of_int', [list, t], intType, lastIndexOf]),
];

function slice(items: Value, start: Value, end: Value): Value {
  const [from, to] = [Number(start), Number(end)];
  const cannot = `cannot slice(${start as bigint}, ${end as bigint}), `;
  const { size } = items as CelList;
  if (from < 0 || to < 0) throw new EvalError(`${cannot}negative indexes not supported`);
  if (from > to) throw new EvalError(`${cannot}start index must be less than or equal to end index`);
  if (size < to) throw new EvalError(`${cannot}list is length ${size}`);
  return listOf([...(items as CelList)].slice(from, to));
}

function flatten(items: Value, levels: Value = 1n): Value {
  const depth = Number(levels);
  if (depth < 0) throw new EvalError('level must be non-negative');
  const flat = (of: CelList, left: number): Value[] =>
    [...of].flatMap((item) => (item instanceof CelList && left > 0 ? flat(item, left - 1) : [item]));
  return listOf(flat(items as CelList, depth));
}

function sortedBy(items: Value, keys: Value): Value {
  const [values, by] = [[...(items as CelList)], [...(keys as CelList)]];
  if (values.length !== by.length)
    throw new EvalError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${values.length} and ${by.length} elements respectively`,
    );
  const [first] = by;
  if (first !== undefined && by.some((key) => typeOf(key).kind !== typeOf(first).kind))
    throw new EvalError('list elements must have the same type');
  const order = values.map((value, i) => ({ value, key: by[i] as Value }));
  order.sort((a, b) => compare(a.key, b.key));
  return listOf(order.map(({ value }) => value));
}

function distinct(items: Value): Value {
  const unique: Value[] = [];
  for (const item of items as CelList) if (!unique.some((one) => equal(item, one))) unique.push(item);
  return listOf(unique);
}

/** The numbers from 0 on; none is stored, since the cost limit ends a long range before its numbers are read. */
class RangeList extends CelList {
  readonly size: number;
  constructor(size: number) {
    super();
    this.size = size;
  }
  at(index: number): Value {
    return BigInt(index);
  }
}

const range = (count: Value): Value => new RangeList(Math.max(0, Number(count)));

/** cel-go's list extension, version 3. */
const extension: Library['functions'] = [
  method('slice', ['list_slice', [list, intType, intType], list, slice]),
  method(
    'flatten',
    ['list_flatten', [listType(list)], list, flatten],
    ['list_flatten_int', [listType(dynType), intType], listType(dynType), flatten],
  ),
  method(
    'sort',
    ...comparable.map(
      ([name, type]) =>
        [
          each(name, 'sort'),
          [listType(type)],
          listType(type),
          (items: Value) => sortedBy(items, items),
        ] as const,
    ),
  ),
  method(
    '@sortByAssociatedKeys',
    ...comparable.map(
      ([name, type]) => [each(name, 'sortByAssociatedKeys'), [list, listType(type)], list, sortedBy] as const,
    ),
  ),
  func('lists.range', ['lists_range', [intType], listType(intType), range]),
  method('reverse', ['list_reverse', [list], list, (items) => listOf([...(items as CelList)].reverse())]),
  method('distinct', ['list_distinct', [list], list, distinct]),
];

const contains = (whole: Value, part: Value): boolean =>
  [...(part as CelList)].every((item) => indexOf(whole, item) !== -1n);

/** Comparisons of lists as sets. */
const sets: Library['functions'] = [
  func('sets.contains', ['list_sets_contains_list', [list, list], boolType, contains]),
  func('sets.equivalent', [
    'list_sets_equivalent_list',
    [list, list],
    boolType,
    (a, b) => contains(a, b) && contains(b, a),
  ]),
  func('sets.intersects', [
    'list_sets_intersects_list',
    [list, list],
    boolType,
    (a, b) => [...(a as CelList)].some((item) => indexOf(b, item) !== -1n),
  ]),
];

function insertAll(target: Value, entries: Value): Value {
  let map = target as PlainMap;
  for (const key of (entries as CelMap).keys()) map = map.with(key, (entries as CelMap).find(key) ?? null);
  return map;
}

/** What the macros `transformMap` and `transformMapEntry` collect with. */
const insertions = func(
  'cel.@mapInsert',
  ['@mapInsert_map_key_value', [mapKV, k, v], mapKV, (map, key, value) => (map as PlainMap).with(key, value)],
  ['@mapInsert_map_map', [mapKV, mapKV], mapKV, insertAll],
);

export const lists: Library = { functions: [...kubernetes, ...extension, ...sets, insertions] };
