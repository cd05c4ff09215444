import { messageOf } from '../../base/errors.ts';
import { defineKind } from '../../controller/kinds.ts';
import type { Reader } from '../../controller/types.ts';
import { durationMs } from '../../kube/duration.ts';
import { formatQuantity, milliQuantity, parseQuantity, scaledValue } from '../../kube/resources/quantity.ts';
import { nameOf, namespaceOf } from '../workload/objects.ts';
import type { PodMetricsObject } from './autoscaler-types.ts';
import type { PodMetric, PodMetrics } from './replica-calculator.ts';

const podMetrics = defineKind<PodMetricsObject>({
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  resource: 'pods',
});

/** Returns a quantity in thousandths. */
export const milliOf = (text: string): number => Number(scaledValue(parseQuantity(text), -3));

/** Returns the text of an amount of a resource in thousandths. */
export const quantityText = (resource: string, milli: number): string =>
  formatQuantity(milliQuantity(milli, resource === 'memory' ? 'BinarySI' : 'DecimalSI'));

export interface MetricQuery {
  readonly namespace: string;
  /** A label selector as text. */
  readonly selector: string;
  readonly resource: string;
  /** Only this container counts. */
  readonly container?: string | undefined;
}

/** Reads what pods use of a resource. @throws with the reason when that is not known */
export async function readMetrics(
  reader: Reader,
  query: MetricQuery,
  signal: AbortSignal,
): Promise<PodMetrics> {
  const { namespace, selector, resource, container } = query;
  const fail = (why: string): Error => new Error(`unable to get metrics for resource ${resource}: ${why}`);
  let listed: readonly PodMetricsObject[];
  try {
    listed = await reader.list(podMetrics, { namespace, labels: selector, signal, timeoutMs: 10_000 });
  } catch (reason) {
    throw fail(`unable to fetch metrics from resource metrics API: ${messageOf(reason)}`);
  }
  if (listed.length === 0) throw fail('no metrics returned from resource metrics API');
  const metrics = new Map<string, PodMetric>();
  for (const pod of listed) {
    const all = pod.containers.filter(({ name }) => container === undefined || name === container);
    if (container !== undefined && all.length === 0)
      throw fail(`container ${container} not present in metrics for pod ${namespaceOf(pod)}/${nameOf(pod)}`);
    const uses = all.flatMap(({ usage }) => usage[resource] ?? []);
    // a pod that lacks a part has no metric: its sum would be too small
    if (uses.length === 0 || uses.length < all.length) continue;
    const value = uses.reduce((sum, use) => sum + milliOf(use), 0);
    metrics.set(nameOf(pod), { value, at: Date.parse(pod.timestamp), window: durationMs(pod.window) });
  }
  return metrics;
}
