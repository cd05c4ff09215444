import { type Faults, forbidden, invalid, required } from '../../../kube/validation/field-error.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  scaledValue,
} from '../../../kube/resources/quantity.ts';
import { isObject, type JsonObject, listAt, textOf } from '../../../apimachinery/json.ts';
import { distinctList } from './bounded.ts';

const mostValues = 10;

const amount = (value: unknown): Quantity => parseQuantity(textOf(value) || '0');
const exceeds = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) > 0;
const text = formatQuantity;
const whole = (quantity: Quantity): bigint => scaledValue(quantity, 0);

/** Validates the values that may be requested: ascending, at most the capacity, the default among them. */
function* valueFaults(field: string, values: readonly Quantity[], fallback: Quantity, all: Quantity): Faults {
  for (const [i, value] of values.entries()) {
    const before = values[i - 1];
    if (before && exceeds(before, value))
      yield invalid(`${field}[${i}]`, text(value), 'values must be sorted in ascending order');
  }
  yield* distinctList(field, values, {
    most: mostValues,
    rule: function* (at, value): Faults {
      if (exceeds(value, all))
        yield invalid(at, text(value), `option is larger than capacity value: ${text(all)}`);
    },
    keyOf: (value) => String(whole(value)),
  });
  const isListed =
    values.length <= mostValues && values.some((one) => compareQuantities(one, fallback) === 0);
  if (!isListed)
    yield invalid(field, text(fallback), 'default value is not valid according to the requestPolicy');
}

interface RangeOf {
  readonly fallback: Quantity;
  readonly all: Quantity;
  readonly min: Quantity;
}

function* greatestFaults(field: string, max: Quantity, { fallback, all, min }: RangeOf): Faults {
  if (exceeds(min, max)) yield invalid(field, text(min), `min is larger than max: ${text(max)}`);
  if (exceeds(max, all)) yield invalid(field, text(max), `max is larger than capacity value: ${text(all)}`);
  if (exceeds(fallback, max)) yield invalid(field, text(fallback), `default is more than max: ${text(max)}`);
}

function* multiple(field: string, value: Quantity, min: Quantity, step: Quantity): Faults {
  const size = whole(step);
  if (size !== 0n && (whole(value) - whole(min)) % size !== 0n)
    yield invalid(
      field,
      text(value),
      `value is not a multiple of a given step (${text(step)}) from (${text(min)})`,
    );
}

function* rangeFaults(field: string, range: JsonObject, fallback: Quantity, all: Quantity): Faults {
  if (range['min'] === undefined) {
    yield required(`${field}.min`, 'required when validRange is defined');
    return;
  }
  const min = amount(range['min']);
  if (exceeds(min, all))
    yield invalid(`${field}.min`, text(min), `min is larger than capacity value: ${text(all)}`);
  if (exceeds(min, fallback))
    yield invalid(`${field}.min`, text(fallback), `default is less than min: ${text(min)}`);
  const max = range['max'] === undefined ? undefined : amount(range['max']);
  if (max) yield* greatestFaults(`${field}.max`, max, { fallback, all, min });
  if (range['step'] === undefined) return;
  const step = amount(range['step']);
  const at = `${field}.step`;
  const next = addQuantities(min, step);
  if (exceeds(next, all))
    yield invalid(at, text(step), `one step ${text(next)} is larger than capacity value: ${text(all)}`);
  yield* multiple(at, fallback, min, step);
  if (max) yield* multiple(at, max, min, step);
}

/** Validates how much of a capacity may be requested at once. */
function* policyFaults(field: string, policy: JsonObject, all: Quantity): Faults {
  const values = listAt(policy, 'validValues');
  const range = policy['validRange'];
  const key = values.length > 0 ? 'validValues' : 'validRange';
  if (values.length > 0 && isObject(range))
    yield forbidden(
      field,
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  else if (values.length === 0 && !isObject(range)) return;
  else if (policy['default'] === undefined)
    yield required(`${field}.default`, `required when ${key} is defined`);
  else if (isObject(range)) yield* rangeFaults(`${field}.validRange`, range, amount(policy['default']), all);
  else yield* valueFaults(`${field}.validValues`, values.map(amount), amount(policy['default']), all);
}

/** Validates a capacity; only a device that is allocated several times has a policy for requests of it. */
export const capacityRule = (isShared: boolean) =>
  function* (field: string, capacity: JsonObject): Faults {
    const { requestPolicy } = capacity;
    if (!isObject(requestPolicy)) return;
    if (isShared) yield* policyFaults(`${field}.requestPolicy`, requestPolicy, amount(capacity['value']));
    else yield forbidden(`${field}.requestPolicy`, 'allowMultipleAllocations must be true');
  };
