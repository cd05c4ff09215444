import {
  addQuantities,
  asInt64,
  compareQuantities,
  type Quantity,
  quantityOf,
  signOfQuantity,
  subQuantities,
  tryParseQuantity,
} from '../../../kube/resources/quantity.ts';
import { func, type Library, method } from '../check/declarations.ts';
import { boolType, doubleType, intType, libraryType, stringType, type Type } from '../check/types.ts';
import { EvalError, Opaque, type Value } from '../values/value.ts';

export const quantityType: Type = libraryType('kubernetes.Quantity');

class Amount extends Opaque {
  readonly type = quantityType;
  readonly quantity: Quantity;
  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }
  same(other: Opaque): boolean {
    return compareQuantities(this.quantity, (other as Amount).quantity) === 0;
  }
}

const of = (value: Value): Quantity => (value as Amount).quantity;

/** @throws {EvalError} */
function toQuantity(text: Value): Value {
  const parsed = tryParseQuantity(text as string);
  if (typeof parsed === 'string') throw new EvalError(parsed);
  return new Amount(parsed);
}

function toInteger(value: Value): Value {
  const whole = asInt64(of(value));
  if (whole === undefined) throw new EvalError('cannot convert value to integer');
  return whole;
}

const ofInt = (value: Value): Quantity => quantityOf(value as bigint, 'DecimalExponent');
const two = [quantityType, quantityType];
const withInt = [quantityType, intType];

/** Kubernetes' quantities. */
export const quantities: Library = {
  functions: [
    func('quantity', ['string_to_quantity', [stringType], quantityType, toQuantity]),
    func('isQuantity', [
      'is_quantity_string',
      [stringType],
      boolType,
      (text) => typeof tryParseQuantity(text as string) !== 'string',
    ]),
    func('sign', ['quantity_sign', [quantityType], intType, (q) => BigInt(signOfQuantity(of(q)))]),
    method('isGreaterThan', [
      'quantity_is_greater_than',
      two,
      boolType,
      (a, b) => compareQuantities(of(a), of(b)) > 0,
    ]),
    method('isLessThan', [
      'quantity_is_less_than',
      two,
      boolType,
      (a, b) => compareQuantities(of(a), of(b)) < 0,
    ]),
    method('compareTo', [
      'quantity_compare_to',
      two,
      intType,
      (a, b) => BigInt(compareQuantities(of(a), of(b))),
    ]),
    method('asApproximateFloat', [
      'quantity_get_float',
      [quantityType],
      doubleType,
      (q) => Number(`${of(q).unscaled}e${of(q).exponent}`),
    ]),
    method('asInteger', ['quantity_get_int', [quantityType], intType, toInteger]),
    method('isInteger', [
      'quantity_is_integer',
      [quantityType],
      boolType,
      (q) => asInt64(of(q)) !== undefined,
    ]),
    method(
      'add',
      ['quantity_add', two, quantityType, (a, b) => new Amount(addQuantities(of(a), of(b)))],
      ['quantity_add_int', withInt, quantityType, (a, b) => new Amount(addQuantities(of(a), ofInt(b)))],
    ),
    method(
      'sub',
      ['quantity_sub', two, quantityType, (a, b) => new Amount(subQuantities(of(a), of(b)))],
      ['quantity_sub_int', withInt, quantityType, (a, b) => new Amount(subQuantities(of(a), ofInt(b)))],
    ),
  ],
  types: [quantityType],
};
