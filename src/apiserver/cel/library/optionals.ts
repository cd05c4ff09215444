import { func, type Library, method } from '../check/declarations.ts';
import { boolType, listType, optionalType, paramType } from '../check/types.ts';
import { isZero } from '../values/inspect.ts';
import { type CelList, EvalError, none, Optional, type Value } from '../values/value.ts';
import { listOf } from './strings.ts';

const v = paramType('V');
const optional = optionalType(v);
const list = listType(v);

function valueOf(value: Value): Value {
  const inner = (value as Optional).value;
  if (inner === undefined) throw new EvalError('optional.none() dereference');
  return inner;
}

function unwrapped(values: Value): Value {
  return listOf(
    [...(values as CelList)].flatMap((one) => {
      const inner = (one as Optional).value;
      return inner === undefined ? [] : [inner];
    }),
  );
}

const ofItem = (values: Value, index: number): Value => {
  const items = values as CelList;
  return items.size === 0 ? none : new Optional(items.at(index < 0 ? items.size + index : index));
};

/** Optional values. `or` and `orValue` are evaluated by the plan: their argument only if it is needed. */
export const optionals: Library = {
  functions: [
    func('optional.of', ['optional_of', [v], optional, (x) => new Optional(x)]),
    func('optional.ofNonZeroValue', [
      'optional_ofNonZeroValue',
      [v],
      optional,
      (x) => (isZero(x) ? none : new Optional(x)),
    ]),
    func('optional.none', ['optional_none', [], optional, () => none]),
    method('value', ['optional_value', [optional], v, valueOf]),
    method('hasValue', [
      'optional_hasValue',
      [optional],
      boolType,
      (x) => (x as Optional).value !== undefined,
    ]),
    method('or', ['optional_or_optional', [optional, optional], optional]),
    method('orValue', ['optional_orValue_value', [optional, v], v]),
    method('first', ['list_first', [list], optional, (x) => ofItem(x, 0)]),
    method('last', ['list_last', [list], optional, (x) => ofItem(x, -1)]),
    func('optional.unwrap', ['optional_unwrap', [listType(optional)], list, unwrapped]),
    method('unwrapOpt', ['optional_unwrapOpt', [listType(optional)], list, unwrapped]),
  ],
};
