import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import { func, type Library } from '../../apiserver/cel/check/declarations.ts';
import {
  doubleType,
  boolType,
  intType,
  libraryType,
  stringType,
  type Type,
} from '../../apiserver/cel/check/types.ts';
import { fromJson } from '../../apiserver/cel/values/json.ts';
import {
  CelList,
  CelMap,
  EvalError,
  Opaque,
  Timestamp,
  type Value,
} from '../../apiserver/cel/values/value.ts';
import { ownMember } from '../../base/own.ts';
import {
  addQuantities,
  compareQuantities,
  quantityOf,
  type Quantity,
  subQuantities,
  tryParseQuantity,
} from '../../kube/resources/quantity.ts';

const quantityType: Type = libraryType('kubernetes.Quantity');

/** A quantity as a value of an expression; unlike that of admission it has operators. */
export class Amount extends Opaque {
  readonly type: Type = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  get number(): number {
    return Number(`${this.quantity.unscaled}e${this.quantity.exponent}`);
  }

  same(other: Opaque): boolean {
    return other instanceof Amount && compareQuantities(this.quantity, other.quantity) === 0;
  }

  override readonly order = (other: Opaque): number =>
    other instanceof Amount ? compareQuantities(this.quantity, other.quantity) : 0;
}

/** Returns the amount of a text. @throws {EvalError} */
export function amountOfText(text: string): Amount {
  const parsed = tryParseQuantity(text);
  if (typeof parsed === 'string') throw new EvalError(parsed);
  return new Amount(parsed);
}

const of = (value: Value): Quantity => (value as Amount).quantity;
const zero: Quantity = quantityOf(0n, 'DecimalSI');

/** Returns a number of whole thousandths, as the products and quotients of quantities are. */
function amountOfNumber(value: number): Amount {
  if (!Number.isFinite(value)) throw new EvalError('the result is no quantity');
  return amountOfText(`${Math.trunc(Number((value * 1000).toPrecision(15)))}m`);
}

const scaled =
  (scale: (value: number, by: number) => number) =>
  (amount: Value, by: Value): Value =>
    amountOfNumber(scale((amount as Amount).number, Number(by)));

const two = [quantityType, quantityType];
const withInt = [quantityType, intType];
const withDouble = [quantityType, doubleType];

const orders = ['less', 'less_equals', 'greater', 'greater_equals'] as const;
const orderNames = ['_<_', '_<=_', '_>_', '_>=_'] as const;

/** Quantities of expressions: `Quantity("1Gi")`, their sums, differences, multiples, and their order. */
export const amounts: Library = {
  functions: [
    func('Quantity', [
      'string_to_amount',
      [stringType],
      quantityType,
      (text) => amountOfText(text as string),
    ]),
    func('_+_', ['add_amount', two, quantityType, (a, b) => new Amount(addQuantities(of(a), of(b)))]),
    func('_-_', ['subtract_amount', two, quantityType, (a, b) => new Amount(subQuantities(of(a), of(b)))]),
    func('-_', [
      'negate_amount',
      [quantityType],
      quantityType,
      (a) => new Amount(subQuantities(zero, of(a))),
    ]),
    func(
      '_*_',
      ['multiply_amount_int', withInt, quantityType, scaled((a, b) => a * b)],
      ['multiply_amount_double', withDouble, quantityType, scaled((a, b) => a * b)],
    ),
    func(
      '_/_',
      ['divide_amount_int', withInt, quantityType, scaled((a, b) => a / b)],
      ['divide_amount_double', withDouble, quantityType, scaled((a, b) => a / b)],
    ),
    ...orderNames.map((name, i) => func(name, [`${orders[i] ?? ''}_amount`, two, boolType])),
    func('double', ['amount_to_double', [quantityType], doubleType, (a) => (a as Amount).number]),
  ],
  types: [quantityType],
};

/** Members of Kubernetes' objects that hold amounts by the name of the resource. */
const resourceLists = new Set([
  'requests',
  'limits',
  'capacity',
  'allocatable',
  'allocatedResources',
  'overhead',
]);

/** Members that hold texts by a name. */
const textMaps = new Set(['labels', 'annotations', 'nodeSelector']);

/** Members that hold a time. */
const timeMember = /(?:Timestamp|Time|At)$/;

/** What the members of a map are: those of an object, texts or amounts. */
type Content = 'members' | 'texts' | 'amounts';

/**
 * ObjectValue is a Kubernetes object, or a part of one, as a value of an expression: amounts of resources are quantities and times are timestamps.
 * Labels, annotations and lists of resources that are absent are empty, as in kwok.
 */
export class ObjectValue extends CelMap {
  readonly members: JsonObject;
  readonly #content: Content;

  constructor(members: JsonObject, content: Content = 'members') {
    super();
    this.members = members;
    this.#content = content;
  }

  get size(): number {
    return Object.keys(this.members).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const member = Object.hasOwn(this.members, key) ? ownMember(this.members, key) : undefined;
    if (this.#content === 'members') return memberValue(key, member);
    if (member === undefined || member === null) return undefined;
    const isAmount =
      this.#content === 'amounts' && (typeof member === 'string' || typeof member === 'number');
    return isAmount ? amountOfText(`${member}`) : fromJson(member);
  }

  keys(): Iterable<Value> {
    return Object.keys(this.members);
  }
}

class ObjectList extends CelList {
  readonly #items: readonly unknown[];

  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Value {
    return memberValue('', this.#items[index]) ?? null;
  }
}

function memberValue(name: string, value: unknown): Value | undefined {
  const content = contentOf(name);
  if (content !== 'members') return new ObjectValue(isObject(value) ? value : {}, content);
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return new ObjectList(value);
  if (isObject(value)) return new ObjectValue(value);
  if (typeof value === 'string' && timeMember.test(name)) {
    const ms = Date.parse(value);
    if (!Number.isNaN(ms)) return new Timestamp(BigInt(ms) * 1_000_000n);
  }
  return fromJson(value);
}

function contentOf(name: string): Content {
  if (resourceLists.has(name)) return 'amounts';
  return textMaps.has(name) ? 'texts' : 'members';
}
