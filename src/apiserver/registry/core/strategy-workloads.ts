import { ownMember } from '../../../base/own.ts';
import { compareQuantities, formatQuantity, tryParseQuantity } from '../../../kube/resources/quantity.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import { labels, labelSelector, type Selector } from '../../../kube/validation/shared.ts';
import type { Pod } from '../../../kube/types.ts';
import { duplicate, type Faults } from '../../../kube/validation/field-error.ts';
import type { PodContext } from '../../../kube/validation/options.ts';
import { validateContainerResources } from '../../../kube/validation/resource-rules.ts';
import { validateTolerations } from '../../../kube/validation/scheduling.ts';
import { ipWarnings } from '../validation/address-rules.ts';
import { conditionsFaults } from '../validation/condition-rules.ts';
import { endpointsDefaults, endpointsFaults } from '../validation/endpoints-validation.ts';
import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  statusOf,
  stringAt,
  textOf,
  withMetadata,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { limitRangeFaults } from '../validation/limit-range-validation.ts';
import { oldLabelWarnings } from '../validation/pod-warnings.ts';
import { quotaFaults, quotaStatusFaults, quotaUpdateFaults } from '../validation/quota-validation.ts';
import { causeOf, fault, type FieldFault, forbidden } from '../../../apimachinery/status-error.ts';
import { validateMetadata, validateMetadataUpdate } from '../metadata-rules.ts';
import { commonStrategy, mainRules, statusRules } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';

type Toleration = NonNullable<NonNullable<Pod['spec']>['tolerations']>[number];

/** Higher values are reserved for the system. */
const highestPriority = 1_000_000_000;
const systemPriorities = new Set(['system-cluster-critical', 'system-node-critical']);
const preemptions = ['PreemptLowerPriority', 'Never'];
const priorities = builtIn('priorityclasses', 'scheduling.k8s.io');

function preemptionFaults(policy: string): readonly FieldFault[] {
  if (preemptions.includes(policy)) return [];
  return [
    policy === ''
      ? fault.required('preemptionPolicy')
      : fault.unsupported('preemptionPolicy', policy, preemptions),
  ];
}

export const priorityStrategy: Strategy = {
  ...commonStrategy(priorities),
  prepareCreate: (one) => withMetadata(one, { generation: 1 }),
  defaults: (one) => ({
    ...one,
    preemptionPolicy: one['preemptionPolicy'] ?? 'PreemptLowerPriority',
  }),
  validateCreate(one) {
    const name = nameOf(one);
    if (systemPriorities.has(name)) return [];
    if (name.startsWith('system-'))
      return [
        fault.forbidden(
          'metadata.name',
          `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        ),
      ];
    const policy = stringAt(one, 'preemptionPolicy');
    return [
      ...(Number(one['value'] ?? 0) > highestPriority
        ? [fault.forbidden('value', `maximum allowed value of a user defined priority is ${highestPriority}`)]
        : []),
      ...preemptionFaults(policy),
    ];
  },
  main: {
    ...mainRules(priorities, false),
    validatesMetadata: true,
    validate(one, old) {
      const [now, before] = [one, old].map((each) => stringAt(each, 'preemptionPolicy'));
      return [
        ...validateMetadataUpdate(one, old, priorities),
        ...(one['value'] === old['value']
          ? []
          : [fault.forbidden('value', 'may not be changed in an update.')]),
        ...(now === before ? [] : [fault.invalid('preemptionPolicy', now, 'field is immutable')]),
      ];
    },
  },
  checkDelete(one) {
    const name = nameOf(one);
    if (systemPriorities.has(name))
      throw forbidden(
        { group: 'scheduling.k8s.io', kind: 'priorityclasses', name },
        'this is a system priority class and cannot be deleted',
      );
  },
};

const limitRanges = builtIn('limitranges');
export const limitRangeStrategy: Strategy = {
  ...commonStrategy(limitRanges),
  defaults: (range) => {
    const spec = objectAt(range, 'spec');
    if (!Array.isArray(spec['limits'])) return range;
    return { ...range, spec: { ...spec, limits: objectsAt(spec, 'limits').map(limitDefaults) } };
  },
  validateCreate: limitRangeFaults,
  main: {
    ...mainRules(limitRanges, false),
    validatesMetadata: true,
    validate: (range) => [...validateMetadata(range, limitRanges), ...limitRangeFaults(range)],
  },
};

const quotas = builtIn('resourcequotas');
export const quotaStrategy: Strategy = {
  ...commonStrategy(quotas),
  validateCreate: quotaFaults,
  warnings: quotaWarnings,
  main: {
    ...mainRules(quotas, true),
    validatesMetadata: true,
    validate: (quota, old) => [
      ...validateMetadataUpdate(quota, old, quotas),
      ...quotaUpdateFaults(quota, old),
    ],
  },
  subresources: { status: { ...statusRules(quotas), validate: quotaStatusFaults } },
};

const limited = ['cpu', 'memory', 'storage', 'ephemeral-storage'];

/** Warns of a quota whose requests exceed its limits. */
function quotaWarnings(quota: JsonObject): readonly string[] {
  const hard = objectAt(objectAt(quota, 'spec'), 'hard');
  return limited.flatMap((name) => {
    const bare = ['cpu', 'memory'].includes(name) ? [name] : [];
    const requestKey = [`requests.${name}`, ...bare].find((key) => Object.hasOwn(hard, key));
    const most = `limits.${name}`;
    const [request, limit] = [requestKey ?? '', most].map((key) => tryParseQuantity(stringAt(hard, key)));
    if (typeof request !== 'object' || typeof limit !== 'object') return [];
    return compareQuantities(request, limit) > 0
      ? [
          `ResourceQuota ${requestKey ?? ''} (${formatQuantity(request)}) should be less than ${most} (${formatQuantity(limit)})`,
        ]
      : [];
  });
}

const endpointsWarnings = (one: JsonObject): readonly string[] =>
  objectsAt(one, 'subsets').flatMap((subset, i) =>
    ['addresses', 'notReadyAddresses'].flatMap((key) =>
      objectsAt(subset, key).flatMap((address, j) =>
        ipWarnings(`subsets[${i}].${key}[${j}].ip`, stringAt(address, 'ip')),
      ),
    ),
  );

const endpoints = builtIn('endpoints');
export const endpointsStrategy: Strategy = {
  ...commonStrategy(endpoints),
  defaults: endpointsDefaults,
  validateCreate: endpointsFaults,
  warnings: endpointsWarnings,
  main: { ...mainRules(endpoints, false), validate: endpointsFaults, warnings: endpointsWarnings },
};

/**
 * Sets the defaults of a limit range item: the default limit is the maximum; the default request is the default limit, else the minimum.
 */
function limitDefaults(item: JsonObject): JsonObject {
  if (item['type'] !== 'Container') return item;
  const limits = { ...objectAt(item, 'max'), ...objectAt(item, 'default') };
  const requests = { ...objectAt(item, 'min'), ...limits, ...objectAt(item, 'defaultRequest') };
  return {
    ...item,
    ...(Object.keys(limits).length > 0 && { default: limits }),
    ...(Object.keys(requests).length > 0 && { defaultRequest: requests }),
  };
}

const runtimeClassWarnings = (one: JsonObject): readonly string[] =>
  oldLabelWarnings('scheduling.nodeSelector', objectAt(objectAt(one, 'scheduling'), 'nodeSelector'));

/** Validates what pods of a runtime class cost more, and where they go. Follows Kubernetes pkg/apis/node/validation, v1.36. */
function* runtimeRules(one: JsonObject): Faults {
  const overhead = objectAt(objectAt(one, 'overhead'), 'podFixed') as Readonly<Record<string, string>>;
  const bare: PodContext = { options: {}, pod: {}, volumes: new Map(), claimNames: new Set() };
  if (Object.keys(overhead).length > 0)
    yield* validateContainerResources('overhead', { limits: overhead }, bare);
  const scheduling = objectAt(one, 'scheduling');
  yield* labels(
    'scheduling.nodeSelector',
    objectAt(scheduling, 'nodeSelector') as Readonly<Record<string, string>>,
  );
  const tolerations = objectsAt(scheduling, 'tolerations') as readonly Toleration[];
  yield* validateTolerations('scheduling.tolerations', tolerations, {});
  const seen = new Set<string>();
  for (const [
    i,
    { key = '', operator = '', value = '', effect = '', tolerationSeconds },
  ] of tolerations.entries()) {
    const id = JSON.stringify([key, operator, value, effect]);
    if (seen.has(id))
      yield duplicate(`scheduling.tolerations[${i}]`, {
        Key: key,
        Operator: operator,
        Value: value,
        Effect: effect,
        TolerationSeconds: tolerationSeconds ?? null,
      });
    seen.add(id);
  }
}

function runtimeFaults(one: JsonObject): FieldFault[] {
  const handler = stringAt(one, 'handler');
  const wrong = dns1123Label(handler).map((why) => fault.invalid('handler', handler, why));
  return [...(handler === '' ? [fault.required('handler')] : wrong), ...[...runtimeRules(one)].map(causeOf)];
}

const runtimeClasses = builtIn('runtimeclasses', 'node.k8s.io');
export const runtimeClassStrategy: Strategy = {
  ...commonStrategy(runtimeClasses),
  validateCreate: runtimeFaults,
  warnings: runtimeClassWarnings,
  main: {
    ...mainRules(runtimeClasses, false),
    validatesMetadata: true,
    validate: (one, old) => [
      ...validateMetadataUpdate(one, old, runtimeClasses),
      ...(one['handler'] === old['handler']
        ? []
        : [fault.invalid('handler', one['handler'], 'field is immutable')]),
      ...validateMetadata(one, runtimeClasses),
      ...runtimeFaults(one),
    ],
    warnings: runtimeClassWarnings,
  },
};

const budgets = builtIn('poddisruptionbudgets', 'policy');
const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'];
const unhealthyPolicies = ['AlwaysAllow', 'IfHealthyBudget'];

/** Validates a number or percentage of pods. */
function shareFaults(field: string, share: unknown): FieldFault[] {
  if (typeof share === 'number')
    return share < 0 ? [fault.invalid(field, share, 'must be greater than or equal to 0')] : [];
  if (typeof share !== 'string') return [];
  if (!/^[0-9]+%$/.test(share))
    return [
      fault.invalid(
        field,
        share,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ];
  return parseInt(share, 10) > 100 ? [fault.invalid(field, share, 'must not be greater than 100%')] : [];
}

/** Validates a budget's spec. Follows Kubernetes `ValidatePodDisruptionBudgetSpec` (pkg/apis/policy/validation, v1.36). */
function budgetFaults(budget: JsonObject): FieldFault[] {
  const spec = objectAt(budget, 'spec');
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec;
  const both = minAvailable !== undefined && maxUnavailable !== undefined;
  const shown = {
    MinAvailable: minAvailable ?? null,
    Selector: selector ?? null,
    MaxUnavailable: maxUnavailable ?? null,
    UnhealthyPodEvictionPolicy: policy ?? null,
  };
  return [
    ...(both ? [fault.invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set')] : []),
    ...shareFaults('spec.minAvailable', minAvailable),
    ...shareFaults('spec.maxUnavailable', maxUnavailable),
    ...[...labelSelector('spec.selector', selector as Selector | undefined)].map(causeOf),
    ...(policy === undefined || unhealthyPolicies.includes(textOf(policy))
      ? []
      : [fault.unsupported('spec.unhealthyPodEvictionPolicy', policy, unhealthyPolicies)]),
  ];
}

export const budgetStrategy: Strategy = {
  ...commonStrategy(budgets),
  // the metadata are validated after the spec
  validatesMetadata: true,
  validateCreate: budgetFaults,
  main: { ...mainRules(budgets, true), validatesMetadata: true, validate: budgetFaults },
  subresources: {
    status: {
      ...statusRules(budgets),
      validatesMetadata: true,
      validate: (budget) => [
        ...[...conditionsFaults('status.conditions', objectsAt(statusOf(budget), 'conditions'))].map(causeOf),
        ...counts.flatMap((key) => {
          const count = ownMember(statusOf(budget), key);
          return typeof count === 'number' && count < 0
            ? [fault.invalid(`status.${key}`, count, 'must be greater than or equal to 0')]
            : [];
        }),
      ],
    },
  },
};
