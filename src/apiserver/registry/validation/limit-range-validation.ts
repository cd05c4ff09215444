import {
  compareQuantities,
  milliValueOf,
  parseQuantity,
  type Quantity,
  quantityOf,
} from '../../../kube/resources/quantity.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  containerResourceName,
  mayOvercommit,
  resourceName,
} from '../../../kube/validation/resource-rules.ts';
import { type JsonObject, objectAt, objectsAt, stringAt, textOf } from '../../../apimachinery/json.ts';
import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const types = new Set(['Container', 'PersistentVolumeClaim', 'Pod']);
const keys = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
type Key = (typeof keys)[number];

function typeFaults(type: string, field: string): FieldFault[] {
  const wrong = qualifiedNameRule(type).map((why) => fault.invalid(field, type, why));
  if (wrong.length > 0 || type.includes('/') || types.has(type)) return wrong;
  return [fault.invalid(field, type, 'must be a standard limit type or fully qualified')];
}

/** The bounds of one resource, with their texts. */
type Bounds = Partial<Record<Key, { readonly text: string; readonly amount: Quantity }>>;

/** The required orders of bounds, and the field and words of the error. */
const orders: readonly (readonly [less: Key, more: Key, at: Key, shown: Key, what: string, than: string])[] =
  [
    ['min', 'max', 'min', 'min', 'min', 'max'],
    ['min', 'defaultRequest', 'defaultRequest', 'defaultRequest', 'min', 'default request'],
    ['defaultRequest', 'max', 'defaultRequest', 'defaultRequest', 'default request', 'max'],
    ['defaultRequest', 'default', 'defaultRequest', 'defaultRequest', 'default request', 'default limit'],
    ['min', 'default', 'default', 'min', 'min', 'default'],
    ['default', 'max', 'default', 'max', 'default', 'max'],
  ];

function orderFaults(bounds: Bounds, name: string, field: string): FieldFault[] {
  return orders.flatMap(([less, more, at, shown, what, than]) => {
    const [a, b] = [bounds[less], bounds[more]];
    if (!a || !b || compareQuantities(a.amount, b.amount) <= 0) return [];
    const why = `${what} value ${a.text} is greater than ${than} value ${b.text}`;
    return [fault.invalid(`${field}.${at}[${name}]`, bounds[shown]?.text, why)];
  });
}

function ratioFaults({ min, max, maxLimitRequestRatio: ratio }: Bounds, field: string): FieldFault[] {
  if (!ratio) return [];
  const faults: FieldFault[] = [];
  if (compareQuantities(ratio.amount, quantityOf(1)) < 0)
    faults.push(fault.invalid(field, ratio.text, `ratio ${ratio.text} is less than 1`));
  if (!min || !max) return faults;
  const most = milliValueOf(max.amount) / milliValueOf(min.amount);
  if (milliValueOf(ratio.amount) / 1000 > most)
    faults.push(
      fault.invalid(field, ratio.text, `ratio ${ratio.text} is greater than max/min = ${most.toFixed(6)}`),
    );
  return faults;
}

function boundFaults(bounds: Bounds, name: string, field: string): FieldFault[] {
  const [limit, request] = [bounds.default, bounds.defaultRequest];
  const apart =
    limit && request && !mayOvercommit(name) && compareQuantities(limit.amount, request.amount) !== 0
      ? [
          fault.invalid(
            `${field}.defaultRequest[${name}]`,
            request.text,
            `default value ${limit.text} must equal to defaultRequest value ${request.text} in ${name}`,
          ),
        ]
      : [];
  return [
    ...orderFaults(bounds, name, field),
    ...ratioFaults(bounds, `${field}.maxLimitRequestRatio[${name}]`),
    ...apart,
  ];
}

function itemFaults(item: JsonObject, field: string): FieldFault[] {
  const type = stringAt(item, 'type');
  const ofPods = type === 'Pod';
  const rule = ofPods || type === 'Container' ? containerResourceName : resourceName;
  const bounds = new Map<string, Bounds>();
  const faultsOf = (key: Key): FieldFault[] => {
    const amounts = Object.entries(objectAt(item, key));
    if (ofPods && key.startsWith('default'))
      return amounts.length > 0
        ? [fault.forbidden(`${field}.${key}`, "may not be specified when `type` is 'Pod'")]
        : [];
    return amounts.flatMap(([name, quantity]) => {
      const text = textOf(quantity);
      bounds.set(name, { ...bounds.get(name), [key]: { text, amount: parseQuantity(text) } });
      return [...rule(`${field}.${key}[${name}]`, name)].map(causeOf);
    });
  };
  const named = keys.slice(0, 4).flatMap(faultsOf);
  const unbound =
    type === 'PersistentVolumeClaim' &&
    ['min', 'max'].every((key) => objectAt(item, key)['storage'] === undefined);
  const why = 'either minimum or maximum storage value is required, but neither was provided';
  return [
    ...named,
    ...(unbound ? [fault.required(`${field}.limits`, why)] : []),
    ...faultsOf('maxLimitRequestRatio'),
    ...[...bounds].flatMap(([name, all]) => boundFaults(all, name, field)),
  ];
}

/** Validates a limit range. Follows Kubernetes `ValidateLimitRange` (pkg/apis/core/validation, v1.36). */
export function limitRangeFaults(range: JsonObject): FieldFault[] {
  const seen = new Set<string>();
  return objectsAt(objectAt(range, 'spec'), 'limits').flatMap((item, i) => {
    const field = `spec.limits[${i}]`;
    const type = stringAt(item, 'type');
    const again = seen.has(type);
    seen.add(type);
    return [
      ...typeFaults(type, `${field}.type`),
      ...(again ? [fault.duplicate(`${field}.type`, type)] : []),
      ...itemFaults(item, field),
    ];
  });
}
