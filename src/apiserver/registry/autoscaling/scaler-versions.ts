import {
  isObject,
  type JsonObject,
  metadataOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  withMetadata,
  without,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';

/** Annotations in which autoscaling/v1 carries what only autoscaling/v2 has fields for. */
const carried = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  statuses: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
} as const;
/** Metrics that are the one of an object without any. */
const defaultUtilization = 80;

const dropEmpty = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** Members of a metric in autoscaling/v1, by the type of the metric: its source in v2 from v1, and in v1 from v2. */
interface MetricForm {
  readonly toV2: (source: JsonObject) => JsonObject;
  readonly toV1: (source: JsonObject) => JsonObject;
}

const targetOf = (source: JsonObject): JsonObject => objectAt(source, 'target');
const metricOf = (source: JsonObject): JsonObject => objectAt(source, 'metric');

const resourceForm: MetricForm = {
  toV2: ({ name, container, targetAverageUtilization: use, targetAverageValue: value }) =>
    dropEmpty({
      name,
      container,
      target: dropEmpty({
        type: use === undefined ? 'AverageValue' : 'Utilization',
        averageValue: value,
        averageUtilization: use,
      }),
    }),
  toV1: (source) =>
    dropEmpty({
      name: source['name'],
      targetAverageUtilization: targetOf(source)['averageUtilization'],
      targetAverageValue: targetOf(source)['averageValue'],
      container: source['container'],
    }),
};

const forms: Readonly<Record<string, MetricForm>> = {
  resource: resourceForm,
  containerResource: resourceForm,
  pods: {
    toV2: ({ metricName: name, selector, targetAverageValue: averageValue }) => ({
      metric: dropEmpty({ name, selector }),
      target: dropEmpty({ type: 'AverageValue', averageValue }),
    }),
    toV1: (source) =>
      dropEmpty({
        metricName: metricOf(source)['name'],
        targetAverageValue: targetOf(source)['averageValue'] ?? '0',
        selector: metricOf(source)['selector'],
      }),
  },
  object: {
    toV2: ({ target, metricName: name, targetValue: value, selector, averageValue }) => ({
      describedObject: target,
      metric: dropEmpty({ name, selector }),
      target: dropEmpty({
        type: averageValue === undefined ? 'Value' : 'AverageValue',
        value: averageValue === undefined || value !== '0' ? value : undefined,
        averageValue,
      }),
    }),
    toV1: (source) =>
      dropEmpty({
        target: source['describedObject'],
        metricName: metricOf(source)['name'],
        targetValue: targetOf(source)['value'] ?? '0',
        selector: metricOf(source)['selector'],
        averageValue: targetOf(source)['averageValue'],
      }),
  },
  external: {
    toV2: ({
      metricName: name,
      metricSelector: selector,
      targetValue: value,
      targetAverageValue: averageValue,
    }) => ({
      metric: dropEmpty({ name, selector }),
      target: dropEmpty({ type: value === undefined ? 'AverageValue' : 'Value', value, averageValue }),
    }),
    toV1: (source) =>
      dropEmpty({
        metricName: metricOf(source)['name'],
        metricSelector: metricOf(source)['selector'],
        targetValue: targetOf(source)['value'],
        targetAverageValue: targetOf(source)['averageValue'],
      }),
  },
};

/** Converts a metric by the form of each of its sources. */
const converted = ({ type, ...metric }: JsonObject, way: keyof MetricForm): JsonObject =>
  Object.fromEntries<unknown>([
    ['type', type],
    ...Object.entries(metric).map(([key, source]): [string, unknown] => {
      const form = ownMember(forms, key);
      return [key, form && isObject(source) ? form[way](source) : source];
    }),
  ]);

const currentOf = (source: JsonObject): JsonObject => objectAt(source, 'current');

/** Converts the state of a metric to autoscaling/v1. */
function statusToV1({ type, ...status }: JsonObject): JsonObject {
  return Object.fromEntries<unknown>([
    ['type', type],
    ...Object.entries(status).map(([key, source]): [string, unknown] => {
      if (!isObject(source)) return [key, source];
      const current = currentOf(source);
      const { name, selector } = metricOf(source);
      const { value, averageValue, averageUtilization } = current;
      const resource = {
        name: source['name'],
        currentAverageUtilization: averageUtilization,
        currentAverageValue: averageValue ?? '0',
        container: source['container'],
      };
      const form: Readonly<Record<string, JsonObject>> = {
        resource,
        containerResource: resource,
        pods: { metricName: name, currentAverageValue: averageValue ?? '0', selector },
        object: {
          target: source['describedObject'],
          metricName: name,
          currentValue: value ?? '0',
          selector,
          averageValue,
        },
        external: {
          metricName: name,
          metricSelector: selector,
          currentValue: value ?? '0',
          currentAverageValue: averageValue,
        },
      };
      return [key, dropEmpty(ownMember(form, key) ?? source)];
    }),
  ]);
}

const isCpu = (metric: JsonObject): boolean =>
  metric['type'] === 'Resource' && stringAt(objectAt(metric, 'resource'), 'name') === 'cpu';
const cpuUse = (metric: JsonObject): unknown => targetOf(objectAt(metric, 'resource'))['averageUtilization'];

const cpuMetric = (use: unknown): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: use } },
});

/** Writes the rules of scaling as the annotation has them: the names are Go's. */
function goBehavior(behavior: JsonObject): string {
  const rules = (one: JsonObject): JsonObject => ({
    StabilizationWindowSeconds: one['stabilizationWindowSeconds'] ?? null,
    SelectPolicy: one['selectPolicy'] ?? null,
    Policies: objectsAt(one, 'policies').map((policy) => ({
      Type: policy['type'],
      Value: policy['value'],
      PeriodSeconds: policy['periodSeconds'],
    })),
    Tolerance: one['tolerance'] ?? null,
  });
  const [up, down] = ['scaleUp', 'scaleDown'].map((key) => {
    const one = ownMember(behavior, key);
    return isObject(one) ? rules(one) : null;
  });
  return JSON.stringify({ ScaleUp: up, ScaleDown: down });
}

/** Reads the rules of scaling of an annotation. */
function behaviorOf(text: string): JsonObject | undefined {
  const read = parsed(text);
  if (!isObject(read)) return undefined;
  const rules = (one: JsonObject): JsonObject =>
    dropEmpty({
      stabilizationWindowSeconds: one['StabilizationWindowSeconds'] ?? undefined,
      selectPolicy: one['SelectPolicy'] ?? undefined,
      policies: objectsAt(one, 'Policies').map((policy) => ({
        type: policy['Type'],
        value: policy['Value'],
        periodSeconds: policy['PeriodSeconds'],
      })),
      tolerance: one['Tolerance'] ?? undefined,
    });
  const [up, down] = [read['ScaleUp'], read['ScaleDown']];
  if (!isObject(up) && !isObject(down)) return undefined;
  return { ...(isObject(up) && { scaleUp: rules(up) }), ...(isObject(down) && { scaleDown: rules(down) }) };
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const withoutCarried = (annotations: JsonObject): JsonObject =>
  without(annotations, ...Object.values(carried));

const annotated = (object: JsonObject, annotations: JsonObject): JsonObject =>
  withMetadata(object, { annotations: Object.keys(annotations).length > 0 ? annotations : undefined });

/** Returns a condition with its members in Go's order. */
const inOrder = ({ type, status, lastTransitionTime, reason, message }: JsonObject): JsonObject =>
  dropEmpty({ type, status, lastTransitionTime, reason, message });

/** Converts a stored autoscaler (autoscaling/v2) to autoscaling/v1. */
export function scalerToV1(scaler: JsonObject): JsonObject {
  const { metrics: _m, behavior, ...spec } = specOf(scaler);
  const { currentMetrics: _c, conditions, ...status } = statusOf(scaler);
  const all = objectsAt(specOf(scaler), 'metrics');
  const main = all.find((metric) => isCpu(metric) && cpuUse(metric) !== undefined);
  const others = all.filter((metric) => !(isCpu(metric) && cpuUse(metric) !== undefined));
  const current = objectsAt(statusOf(scaler), 'currentMetrics');
  const cpu = current.findLast(isCpu);
  const use = cpu && currentOf(objectAt(cpu, 'resource'))['averageUtilization'];
  const annotations = dropEmpty({
    ...withoutCarried(objectAt(metadataOf(scaler), 'annotations')),
    [carried.metrics]:
      others.length > 0 ? JSON.stringify(others.map((metric) => converted(metric, 'toV1'))) : undefined,
    [carried.statuses]: current.length > 0 ? JSON.stringify(current.map(statusToV1)) : undefined,
    [carried.behavior]: isObject(behavior) ? goBehavior(behavior) : undefined,
    [carried.conditions]: Array.isArray(conditions)
      ? JSON.stringify((conditions as readonly JsonObject[]).map(inOrder))
      : undefined,
  });
  return {
    ...annotated(scaler, annotations),
    spec: { ...spec, ...(main && { targetCPUUtilizationPercentage: cpuUse(main) }) },
    status: {
      currentReplicas: 0,
      desiredReplicas: 0,
      ...status,
      ...(use !== undefined && { currentCPUUtilizationPercentage: use }),
    },
  };
}

/** Converts an autoscaler of autoscaling/v1 to the stored version, autoscaling/v2. */
export function scalerFromV1(scaler: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: use, ...spec } = specOf(scaler);
  const { currentCPUUtilizationPercentage: current, ...status } = statusOf(scaler);
  const annotations = objectAt(metadataOf(scaler), 'annotations');
  const others = parsed(ownMember(annotations, carried.metrics));
  const metrics = [
    ...(Array.isArray(others) ? (others as readonly JsonObject[]).map((one) => converted(one, 'toV2')) : []),
    ...(use === undefined ? [] : [cpuMetric(use)]),
  ];
  const behavior = behaviorOf(stringAt(annotations, carried.behavior));
  const conditions = parsed(ownMember(annotations, carried.conditions));
  return {
    ...annotated(scaler, withoutCarried(annotations)),
    spec: {
      ...spec,
      metrics: metrics.length > 0 ? metrics : [cpuMetric(defaultUtilization)],
      ...(behavior && { behavior }),
    },
    status: {
      ...dropEmpty({
        ...status,
        currentReplicas: status['currentReplicas'] === 0 ? undefined : status['currentReplicas'],
      }),
      currentMetrics:
        current === undefined
          ? null
          : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }],
      ...(Array.isArray(conditions) && { conditions }),
    },
  };
}
