import { compareQuantities, parseQuantity } from '../../../kube/resources/quantity.ts';
import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  oneOf,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { scalerPrinter } from '../../printers/table-workloads.ts';
import { strategyOf, type KindRules } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { requiredSegments } from '../validation/reference-rules.ts';
import { nonNegatives, numberAt } from '../validation/value-rules.ts';
import { scalerFromV1, scalerToV1 } from './scaler-versions.ts';

const group = 'autoscaling';
const [longestPeriod, longestWindow] = [1800, 3600];
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const;
const memberOf = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  External: 'external',
  ContainerResource: 'containerResource',
} as const;
const types = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];

const upRules: JsonObject = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const downRules: JsonObject = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

const cpuMetric: JsonObject = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

function defaults(scaler: JsonObject): JsonObject {
  const spec = specOf(scaler);
  const { behavior } = spec;
  return {
    ...scaler,
    spec: {
      minReplicas: 1,
      ...spec,
      metrics: listAt(spec, 'metrics').length > 0 ? spec['metrics'] : [cpuMetric],
      ...(isObject(behavior) && {
        behavior: {
          ...behavior,
          scaleUp: { ...upRules, ...objectAt(behavior, 'scaleUp') },
          scaleDown: { ...downRules, ...objectAt(behavior, 'scaleDown') },
        },
      }),
    },
  };
}

/** What a reference to an object may leave out. */
interface Reference {
  readonly emptyGroup: boolean;
  readonly anyVersion: boolean;
}

function* versionFaults(field: string, apiVersion: string, { emptyGroup, anyVersion }: Reference): Faults {
  if (anyVersion) return;
  if (apiVersion.split('/').length > 2)
    yield invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  else if (!emptyGroup && (!apiVersion.includes('/') || apiVersion.startsWith('/')))
    yield invalid(field, apiVersion, 'apiVersion must specify API group');
}

function* referenceFaults(field: string, ref: JsonObject, allowed: Reference): Faults {
  yield* requiredSegments(field, ref, 'kind', 'name');
  yield* versionFaults(`${field}.apiVersion`, stringAt(ref, 'apiVersion'), allowed);
}

function* identifier(field: string, metric: JsonObject): Faults {
  const name = stringAt(metric, 'name');
  if (name === '') yield required(`${field}.name`, 'must specify a metric name');
  else yield* invalidEach(`${field}.name`, name, pathSegment(name, false));
}

const zero = parseQuantity('0');
const targetTypes = ['Utilization', 'Value', 'AverageValue'];

function* targetFaults(field: string, target: JsonObject): Faults {
  const type = stringAt(target, 'type');
  if (type === '') yield required(`${field}.type`, 'must specify a metric target type');
  if (!targetTypes.includes(type))
    yield invalid(`${field}.type`, type, 'must be either Utilization, Value, or AverageValue');
  for (const key of ['value', 'averageValue']) {
    const amount = ownMember(target, key);
    if (typeof amount === 'string' && compareQuantities(parseQuantity(amount), zero) <= 0)
      yield invalid(`${field}.${key}`, amount, 'must be positive');
  }
  const use = numberAt(target, 'averageUtilization', 1);
  if (use < 1) yield invalid(`${field}.averageUtilization`, use, 'must be greater than 0');
}

const has = (target: JsonObject, key: string): boolean => ownMember(target, key) !== undefined;

function* resourceTarget(field: string, target: JsonObject): Faults {
  yield* targetFaults(field, target);
  const [use, value] = [has(target, 'averageUtilization'), has(target, 'averageValue')];
  if (!use && !value)
    yield required(
      `${field}.averageUtilization`,
      'must set either a target raw value or a target utilization',
    );
  if (use && value)
    yield forbidden(`${field}.averageValue`, 'may not set both a target raw value and a target utilization');
}

const containerResources = ['cpu', 'memory', 'ephemeral-storage'];
const standardResources = [
  ...containerResources,
  'storage',
  'requests.cpu',
  'limits.cpu',
  'pods',
  'services',
];

/** Validates the name of a resource that containers can have. */
function* containerResource(field: string, name: string): Faults {
  if (name.includes('/') || name.startsWith('hugepages-') || containerResources.includes(name)) return;
  if (!standardResources.includes(name))
    yield invalid(field, name, 'must be a standard resource type or fully qualified');
  yield invalid(field, name, 'must be a standard resource for containers');
}

type SourceRule = (field: string, source: JsonObject) => Faults;

const rules: Readonly<Record<(typeof sources)[number], SourceRule>> = {
  *object(field, source) {
    const target = objectAt(source, 'target');
    const allowed = { emptyGroup: true, anyVersion: false };
    yield* referenceFaults(`${field}.describedObject`, objectAt(source, 'describedObject'), allowed);
    yield* identifier(`${field}.metric`, objectAt(source, 'metric'));
    yield* targetFaults(`${field}.target`, target);
    if (!has(target, 'value') && !has(target, 'averageValue'))
      yield required(`${field}.target.averageValue`, 'must set either a target value or averageValue');
  },
  *external(field, source) {
    const target = objectAt(source, 'target');
    const [value, average] = [has(target, 'value'), has(target, 'averageValue')];
    yield* identifier(`${field}.metric`, objectAt(source, 'metric'));
    yield* targetFaults(`${field}.target`, target);
    if (!value && !average)
      yield required(
        `${field}.target.averageValue`,
        'must set either a target value for metric or a per-pod target',
      );
    if (value && average)
      yield forbidden(
        `${field}.target.value`,
        'may not set both a target value for metric and a per-pod target',
      );
  },
  *pods(field, source) {
    yield* identifier(`${field}.metric`, objectAt(source, 'metric'));
    yield* targetFaults(`${field}.target`, objectAt(source, 'target'));
    if (!has(objectAt(source, 'target'), 'averageValue'))
      yield required(`${field}.target.averageValue`, 'must specify a positive target averageValue');
  },
  *resource(field, source) {
    if (stringAt(source, 'name') === '') yield required(`${field}.name`, 'must specify a resource name');
    yield* resourceTarget(`${field}.target`, objectAt(source, 'target'));
  },
  *containerResource(field, source) {
    const [name, container] = [stringAt(source, 'name'), stringAt(source, 'container')];
    if (name === '') yield required(`${field}.name`, 'must specify a resource name');
    else yield* containerResource(`${field}.name`, name);
    if (container === '') yield required(`${field}.container`, 'must specify a container');
    else yield* invalidEach(`${field}.container`, container, dns1123Label(container));
    yield* resourceTarget(`${field}.target`, objectAt(source, 'target'));
  },
};

function* metricFaults(field: string, metric: JsonObject): Faults {
  const type = stringAt(metric, 'type');
  if (type === '') yield required(`${field}.type`, 'must specify a metric source type');
  if (!types.includes(type)) yield unsupported(`${field}.type`, type, types);
  const present = sources.filter((key) => isObject(ownMember(metric, key)));
  const [first] = present;
  if (first) yield* rules[first](`${field}.${first}`, objectAt(metric, first));
  const own = ownMember(memberOf, type);
  if (own === undefined) yield unsupported(`${field}.type`, type, types);
  else if (!present.includes(own))
    yield required(`${field}.${own}`, 'must populate information for the given metric source');
  if (present.length === 1) return;
  for (const key of present.filter((one) => one !== own))
    yield forbidden(`${field}.${key}`, 'must populate the given metric source only');
}

function* policyFaults(field: string, policy: JsonObject): Faults {
  yield* oneOf(`${field}.type`, stringAt(policy, 'type'), ['Percent', 'Pods']);
  const period = numberAt(policy, 'periodSeconds', 0);
  for (const key of ['value', 'periodSeconds'])
    if (numberAt(policy, key, 0) <= 0)
      yield invalid(`${field}.${key}`, numberAt(policy, key, 0), 'must be greater than zero');
  if (period > longestPeriod)
    yield invalid(`${field}.periodSeconds`, period, `must be less than or equal to ${longestPeriod}`);
}

function* scalingFaults(field: string, scaling: JsonObject): Faults {
  const window = numberAt(scaling, 'stabilizationWindowSeconds', 0);
  const at = `${field}.stabilizationWindowSeconds`;
  if (window < 0) yield invalid(at, window, 'must be greater than or equal to zero');
  if (window > longestWindow) yield invalid(at, window, `must be less than or equal to ${longestWindow}`);
  yield* oneOf(`${field}.selectPolicy`, stringAt(scaling, 'selectPolicy'), ['Disabled', 'Max', 'Min']);
  const policies = objectsAt(scaling, 'policies');
  if (policies.length === 0) yield required(`${field}.policies`, 'must specify at least one Policy');
  for (const [i, policy] of policies.entries()) yield* policyFaults(`${field}.policies[${i}]`, policy);
  const tolerance = textOf(scaling['tolerance']);
  if (tolerance.startsWith('-'))
    yield invalid(`${field}.tolerance`, tolerance, 'must be greater than or equal to 0');
}

function* replicaFaults(spec: JsonObject, lowest: number): Faults {
  const [min, max] = [numberAt(spec, 'minReplicas'), numberAt(spec, 'maxReplicas', 0)];
  if (min !== undefined && min < lowest)
    yield invalid('spec.minReplicas', min, `must be greater than or equal to ${lowest}`);
  if (max === 0) yield required('spec.maxReplicas', 'must be set and greater than 0');
  else if (max < 0) yield invalid('spec.maxReplicas', max, 'must be greater than or equal to 1');
  if (min !== undefined && max < min)
    yield invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`');
}

/** Validates an autoscaler. Follows Kubernetes `validateHorizontalPodAutoscalerSpec` (pkg/apis/autoscaling/validation, v1.36). */
function* faults(scaler: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(scaler);
  const target = objectAt(spec, 'scaleTargetRef');
  const before = objectAt(specOf(old), 'scaleTargetRef');
  yield* replicaFaults(spec, specOf(old)['minReplicas'] === 0 ? 0 : 1);
  yield* referenceFaults('spec.scaleTargetRef', target, {
    emptyGroup: target['kind'] === 'ReplicationController',
    anyVersion:
      old !== undefined && before['apiVersion'] === target['apiVersion'] && before['kind'] === target['kind'],
  });
  const metrics = objectsAt(spec, 'metrics');
  for (const [i, metric] of metrics.entries()) yield* metricFaults(`spec.metrics[${i}]`, metric);
  if (spec['minReplicas'] === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    yield forbidden(
      'spec.metrics',
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  const behavior = spec['behavior'];
  if (!isObject(behavior)) return;
  for (const key of ['scaleUp', 'scaleDown'])
    if (isObject(ownMember(behavior, key)))
      yield* scalingFaults(`spec.behavior.${key}`, objectAt(behavior, key));
}

const statusFaults = (scaler: JsonObject): Faults =>
  nonNegatives('status', statusOf(scaler), 'currentReplicas', 'desiredReplicas');

/** Strategy of autoscalers as autoscaling/v2 serves and stores them. */
export const scalerStrategy: Strategy = strategyOf(builtIn('horizontalpodautoscalers', group, 'v2'), {
  defaults,
  faults,
  status: { faults: statusFaults },
});

const v1Rules: KindRules = {
  // what only the stored version has is in annotations, and stays there
  defaults: (scaler) =>
    scalerToV1(defaults(scalerFromV1({ ...scaler, spec: { minReplicas: 1, ...specOf(scaler) } }))),
  faults: (scaler, old) => faults(scalerFromV1(scaler), old && scalerFromV1(old)),
  status: { faults: statusFaults },
};

/** Strategy of autoscalers as autoscaling/v1 serves them. */
export const scalerV1Strategy: Strategy = {
  ...strategyOf(builtIn('horizontalpodautoscalers', group), v1Rules),
  toStorage: scalerFromV1,
  fromStorage: scalerToV1,
  internal: (stored) => stored,
  printer: { ...scalerPrinter, cells: (scaler, now) => scalerPrinter.cells(scalerFromV1(scaler), now) },
};
