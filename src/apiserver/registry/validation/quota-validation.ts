import { tableOf } from '../../../base/own.ts';
import { parseQuantity } from '../../../kube/resources/quantity.ts';
import { quotaResourceName, resourceAmount } from '../../../kube/validation/resource-rules.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const compute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const ofPods = new Set(['pods', ...compute]);
const ofClaims = new Set(['persistentvolumeclaims', 'requests.storage']);

/** The resources that a quota of each scope may count. */
const scopes: Readonly<Record<string, ReadonlySet<string>>> = tableOf({
  Terminating: ofPods,
  NotTerminating: ofPods,
  BestEffort: new Set(['pods']),
  NotBestEffort: ofPods,
  PriorityClass: ofPods,
  CrossNamespacePodAffinity: ofPods,
  VolumeAttributesClass: ofClaims,
});
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];
const existing = new Set([...opposites.flat(), 'CrossNamespacePodAffinity']);

const isQuotaName = (name: string): boolean =>
  [...quotaResourceName('', name)].length === 0 && !name.includes('/');
const unfit = (spec: JsonObject, scope: string): number =>
  Object.keys(objectAt(spec, 'hard')).filter(
    (name) => isQuotaName(name) && scopes[scope]?.has(name) === false,
  ).length;

function amountFaults(amounts: JsonObject, field: string): FieldFault[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const at = `${field}[${name}]`;
    const quantity = parseQuantity(textOf(amount));
    return [...quotaResourceName(at, name), ...resourceAmount(at, name, quantity)].map(causeOf);
  });
}

const clash = (names: readonly string[]): number =>
  opposites.filter((pair) => pair.every((scope) => names.includes(scope))).length;
const times = (count: number, one: FieldFault): FieldFault[] => Array.from({ length: count }, () => one);

function scopeFaults(spec: JsonObject): FieldFault[] {
  const names = listAt(spec, 'scopes').map(textOf);
  const wrong = (why: string): FieldFault => fault.invalid('spec.scopes', names, why);
  return [
    ...names.flatMap((scope) => [
      ...(Object.hasOwn(scopes, scope) ? [] : [wrong('unsupported scope')]),
      ...times(unfit(spec, scope), wrong('unsupported scope applied to resource')),
    ]),
    ...times(clash(names), wrong('conflicting scopes')),
  ];
}

function operatorFaults(term: JsonObject, field: string): FieldFault[] {
  const operator = stringAt(term, 'operator');
  const values = listAt(term, 'values');
  if (operator === 'In' || operator === 'NotIn')
    return values.length > 0
      ? []
      : [
          fault.required(
            `${field}.values`,
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        ];
  if (operator === 'Exists' || operator === 'DoesNotExist')
    return values.length === 0
      ? []
      : [
          fault.invalid(
            `${field}.values`,
            values,
            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
          ),
        ];
  return [fault.invalid(`${field}.operator`, operator, 'not a valid selector operator')];
}

const mustExist =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function selectorFaults(spec: JsonObject): FieldFault[] {
  const field = 'spec.scopeSelector.matchExpressions';
  const terms = objectsAt(objectAt(spec, 'scopeSelector'), 'matchExpressions');
  const shown = {
    MatchExpressions: terms.map((term) => ({
      ScopeName: stringAt(term, 'scopeName'),
      Operator: stringAt(term, 'operator'),
      Values: term['values'] ?? null,
    })),
  };
  const names = terms.map((term) => stringAt(term, 'scopeName'));
  return [
    ...terms.flatMap((term) => {
      const [scope, operator] = [stringAt(term, 'scopeName'), stringAt(term, 'operator')];
      return [
        ...(Object.hasOwn(scopes, scope)
          ? []
          : [fault.invalid(`${field}.scopeName`, scope, 'unsupported scope')]),
        ...times(unfit(spec, scope), fault.invalid(field, shown, 'unsupported scope applied to resource')),
        ...(existing.has(scope) && operator !== 'Exists'
          ? [fault.invalid(`${field}.operator`, operator, mustExist)]
          : []),
        ...operatorFaults(term, field),
      ];
    }),
    ...times(clash(names), fault.invalid(field, spec['scopes'] ?? null, 'conflicting scopes')),
  ];
}

/** Validates a quota. Follows Kubernetes `ValidateResourceQuota` (pkg/apis/core/validation, v1.36). */
export function quotaFaults(quota: JsonObject): FieldFault[] {
  const spec = objectAt(quota, 'spec');
  return [
    ...amountFaults(objectAt(spec, 'hard'), 'spec.hard'),
    ...scopeFaults(spec),
    ...selectorFaults(spec),
    ...quotaStatusFaults(quota),
  ];
}

/** Validates that a quota's scopes do not change. */
export function quotaUpdateFaults(quota: JsonObject, old: JsonObject): FieldFault[] {
  const spec = objectAt(quota, 'spec');
  const [now, before] = [quota, old].map((one) => [...listAt(objectAt(one, 'spec'), 'scopes')].sort());
  return [
    ...amountFaults(objectAt(spec, 'hard'), 'spec.hard'),
    ...scopeFaults(spec),
    ...selectorFaults(spec),
    ...(sameJson(now, before)
      ? []
      : [fault.invalid('spec.scopes', spec['scopes'] ?? null, 'field is immutable')]),
  ];
}

/** Validates a quota's status. */
export const quotaStatusFaults = (quota: JsonObject): FieldFault[] =>
  ['hard', 'used'].flatMap((key) => amountFaults(objectAt(objectAt(quota, 'status'), key), `status.${key}`));
