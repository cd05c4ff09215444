import { messageOf } from '../../base/errors.ts';
import type { Reader } from '../../controller/types.ts';
import type { Pod } from '../workload/types.ts';
import type { Autoscaler, MetricSpec, MetricStatus } from './autoscaler-types.ts';
import { proposeReplicas, type Proposal, type Tolerances, type UsageTarget } from './replica-calculator.ts';
import { milliOf, quantityText, readMetrics } from './resource-metrics.ts';

/** What a metric calls for. */
export interface MetricResult {
  readonly replicas: number;
  /** What the metric is called in conditions and Events. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** Why a metric calls for nothing. */
export interface MetricFailure {
  /** The reason of the condition ScalingActive, e.g. `FailedGetResourceMetric`. */
  readonly reason: string;
  readonly message: string;
}

export interface MetricInput {
  /** Reads from the API server. */
  readonly reader: Reader;
  readonly namespace: string;
  readonly selector: string;
  readonly pods: readonly Pod[];
  readonly currentReplicas: number;
  readonly tolerances: Tolerances;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** The ratio by which usage may differ from its target (`--horizontal-pod-autoscaler-tolerance`). */
const defaultTolerance = 0.1;

/** Returns the tolerances of an autoscaler: those of its behavior, else 0.1. */
export function tolerancesOf({ behavior }: NonNullable<Autoscaler['spec']>): Tolerances {
  const of = (text: string | undefined): number =>
    text === undefined ? defaultTolerance : milliOf(text) / 1000;
  return { up: of(behavior?.scaleUp?.tolerance), down: of(behavior?.scaleDown?.tolerance) };
}

/** Metrics of other APIs than metrics.k8s.io, which none serves here. */
function foreignMetric(spec: MetricSpec): MetricFailure {
  const custom =
    'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';
  const unable = (name: string | undefined): string => `unable to get metric ${name ?? ''}: ${custom}`;
  if (spec.type === 'Pods') {
    const message = `failed to get pods metric value: ${unable(spec.pods?.metric.name)}`;
    return { reason: 'FailedGetPodsMetric', message };
  }
  if (spec.type === 'Object') {
    const message = `failed to get object metric value: ${unable(spec.object?.metric.name)}`;
    return { reason: 'FailedGetObjectMetric', message };
  }
  if (spec.type === 'External') {
    const name = spec.external?.metric.name ?? '';
    const why = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
    const message = `failed to get ${name} external metric value: unable to get external metric ${name}: unable to fetch metrics from external metrics API: ${why}`;
    return { reason: 'FailedGetExternalMetric', message };
  }
  return {
    reason: 'InvalidMetricSourceType',
    message: `unknown metric source type ${JSON.stringify(spec.type)}`,
  };
}

/** Returns how many replicas a metric calls for, or why that cannot be said. */
export async function evaluateMetric(
  spec: MetricSpec,
  input: MetricInput,
): Promise<MetricResult | { readonly failure: MetricFailure }> {
  const source = spec.type === 'Resource' ? spec.resource : spec.containerResource;
  if ((spec.type !== 'Resource' && spec.type !== 'ContainerResource') || !source)
    return { failure: foreignMetric(spec) };
  const container = spec.type === 'ContainerResource' ? spec.containerResource?.container : undefined;
  const { name: resource, target } = source;
  const isRaw = target.averageValue !== undefined;
  try {
    const usageTarget = targetOf(target);
    const { namespace, selector } = input;
    const metrics = await readMetrics(
      input.reader,
      { namespace, selector, resource, container },
      input.signal,
    );
    const proposal = proposeReplicas({
      ...input,
      metrics,
      resource,
      container,
      target: usageTarget,
      milli: milliOf,
    });
    const of = spec.type === 'ContainerResource' ? ' container' : '';
    const name = isRaw
      ? `${resource} resource`
      : `${resource}${of} resource utilization (percentage of request)`;
    return {
      replicas: proposal.replicas,
      name,
      status: statusOf(spec.type, { resource, container, proposal }),
    };
  } catch (reason) {
    if (input.signal.aborted) throw reason;
    const message = `failed to get ${resource} ${isRaw ? 'usage' : 'utilization'}: ${messageOf(reason)}`;
    return { failure: { reason: `FailedGet${spec.type}Metric`, message } };
  }
}

function targetOf({
  averageValue,
  averageUtilization,
}: {
  averageValue?: string;
  averageUtilization?: number;
}): UsageTarget {
  if (averageValue !== undefined) return { averageValue: milliOf(averageValue) };
  if (averageUtilization !== undefined) return { utilization: averageUtilization };
  throw new Error(
    'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set',
  );
}

function statusOf(
  type: 'Resource' | 'ContainerResource',
  {
    resource,
    container = '',
    proposal,
  }: { readonly resource: string; readonly container: string | undefined; readonly proposal: Proposal },
): MetricStatus {
  const { averageValue, utilization } = proposal;
  const current = {
    averageValue: quantityText(resource, averageValue),
    ...(utilization !== undefined && { averageUtilization: utilization }),
  };
  return type === 'Resource'
    ? { type, resource: { name: resource, current } }
    : { type, containerResource: { name: resource, container, current } };
}
