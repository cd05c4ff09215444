import { isDeleted, nameOf } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';

/** What a pod uses of a resource. */
export interface PodMetric {
  /** Thousandths of the unit: milli-CPUs, or thousandths of a byte. */
  readonly value: number;
  /** The end of the measurement, ms since the epoch. */
  readonly at: number;
  /** The length of the measurement, ms. */
  readonly window: number;
}

/** The metrics of pods by name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** How far usage may be from its target without a change, as ratios. */
export interface Tolerances {
  readonly down: number;
  readonly up: number;
}

/** Usage in percent of the requests, or an amount in thousandths for each pod. */
export type UsageTarget = { readonly utilization: number } | { readonly averageValue: number };

export interface CalculatorInput {
  /** The pods of the target. */
  readonly pods: readonly Pod[];
  readonly metrics: PodMetrics;
  readonly resource: string;
  /** Only this container counts. */
  readonly container?: string | undefined;
  readonly target: UsageTarget;
  readonly currentReplicas: number;
  readonly tolerances: Tolerances;
  readonly now: number;
  /** Returns the amount of a request in thousandths. */
  readonly milli: (quantity: string) => number;
}

/** How many replicas the usage calls for. */
export interface Proposal {
  readonly replicas: number;
  /** The mean usage of a pod, in thousandths. */
  readonly averageValue: number;
  /** In percent of the requests, for a target in percent. */
  readonly utilization?: number;
}

/** How long a pod that has started may use CPU for its start (`--horizontal-pod-autoscaler-cpu-initialization-period`), ms. */
const cpuInitializationMs = 300_000;
/** Pods that are not ready count as new for this long (`--horizontal-pod-autoscaler-initial-readiness-delay`), ms. */
const initialReadinessMs = 30_000;

interface Groups {
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  /** Metrics of ready pods, and of pods that are not in the list any more. */
  readonly metrics: Map<string, number>;
}

/** True for a pod whose CPU usage says nothing yet about its load. */
function isStarting({ status }: Pod, metric: PodMetric, now: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready || status?.startTime === undefined) return true;
  const start = Date.parse(status.startTime);
  const since = Date.parse(ready.lastTransitionTime ?? status.startTime);
  if (start + cpuInitializationMs > now) return ready.status === 'False' || metric.at < since + metric.window;
  return ready.status === 'False' && start + initialReadinessMs > since;
}

const isUnready = (pod: Pod, metric: PodMetric | undefined, now: number): boolean =>
  pod.status?.phase === 'Pending' || (metric !== undefined && isStarting(pod, metric, now));

function groupPods({ pods, metrics, resource, now }: CalculatorInput): Groups {
  const [unready, missing]: [string[], string[]] = [[], []];
  const counted = new Map([...metrics].map(([name, { value }]) => [name, value]));
  let ready = 0;
  for (const pod of pods) {
    const name = nameOf(pod);
    const metric = metrics.get(name);
    const isGone = isDeleted(pod) || pod.status?.phase === 'Failed';
    const isNew = isUnready(pod, resource === 'cpu' ? metric : undefined, now);
    if (isGone || isNew) counted.delete(name);
    if (isGone) continue;
    if (isNew) unready.push(name);
    else if (!metric) missing.push(name);
    else ready++;
  }
  return { ready, unready, missing, metrics: counted };
}

/** Returns what each pod requests, in thousandths. @throws when a container requests nothing */
const requestsOf = (input: CalculatorInput): ReadonlyMap<string, number> =>
  new Map(input.pods.map((pod) => [nameOf(pod), requestOf(pod, input)]));

/** The request of the pod itself counts, if it has one, else those of its containers. */
function requestOf(pod: Pod, { resource, container, milli }: CalculatorInput): number {
  const whole = pod.spec?.resources?.requests?.[resource];
  if (container === undefined && whole !== undefined) return milli(whole);
  const all = containersOf(pod).filter(({ name }) => container === undefined || name === container);
  if (container !== undefined && all.length === 0)
    throw new Error(`container ${container} not found in Pod ${nameOf(pod)}`);
  return all.reduce((sum, { name, resources }) => {
    const request = resources?.requests?.[resource];
    if (request !== undefined) return sum + milli(request);
    throw new Error(`missing request for ${resource} in container ${name} of Pod ${nameOf(pod)}`);
  }, 0);
}

const containersOf = ({ spec }: Pod): NonNullable<Pod['spec']>['containers'] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
];

interface Usage {
  readonly ratio: number;
  readonly averageValue: number;
  readonly utilization?: number;
}

function usageOf(
  metrics: ReadonlyMap<string, number>,
  target: UsageTarget,
  requests: ReadonlyMap<string, number>,
): Usage {
  if ('averageValue' in target) {
    const sum = [...metrics.values()].reduce((total, value) => total + value, 0);
    const averageValue = Math.trunc(sum / metrics.size);
    return { averageValue, ratio: averageValue / target.averageValue };
  }
  const both = [...metrics].filter(([name]) => requests.has(name));
  const used = both.reduce((total, [, value]) => total + value, 0);
  const requested = both.reduce((total, [name]) => total + (requests.get(name) ?? 0), 0);
  if (requested === 0) throw new Error('no metrics returned matched known pods');
  const utilization = Math.trunc((used * 100) / requested);
  return {
    utilization,
    averageValue: Math.trunc(used / both.length),
    ratio: utilization / target.utilization,
  };
}

/**
 * Returns how many replicas the usage of a resource calls for. Pods without metrics are assumed to use what stops the change: their target
 * when fewer pods would do, nothing when more are needed; pods that start use nothing (`GetResourceReplicas`, `GetRawResourceReplicas`).
 *
 * @throws when no pod has metrics, or a container requests nothing of the resource
 */
export function proposeReplicas(input: CalculatorInput): Proposal {
  const { pods, target, currentReplicas, tolerances } = input;
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
  const { ready, unready, missing, metrics } = groupPods(input);
  if (metrics.size === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const requests = 'utilization' in target ? requestsOf(input) : new Map<string, number>();
  const { ratio, ...usage } = usageOf(metrics, target, requests);
  const countsUnready = unready.length > 0 && ratio > 1;
  if (!countsUnready && missing.length === 0)
    return {
      ...usage,
      replicas: isTolerated(ratio, tolerances) ? currentReplicas : Math.ceil(ratio * ready),
    };
  assumeRest(metrics, { ratio, target, requests, missing, unready: countsUnready ? unready : [] });
  const { ratio: after } = usageOf(metrics, target, requests);
  const replicas = Math.ceil(after * metrics.size);
  const isSteady = isTolerated(after, tolerances) || isContrary(ratio, after, replicas / currentReplicas);
  return { ...usage, replicas: isSteady ? currentReplicas : replicas };
}

/** Adds what pods without a measurement are assumed to use. */
function assumeRest(
  metrics: Map<string, number>,
  {
    ratio,
    target,
    requests,
    missing,
    unready,
  }: Pick<Groups, 'missing' | 'unready'> & {
    readonly ratio: number;
    readonly target: UsageTarget;
    readonly requests: ReadonlyMap<string, number>;
  },
): void {
  if (ratio !== 1)
    for (const name of missing) metrics.set(name, ratio > 1 ? 0 : assumed(target, requests.get(name) ?? 0));
  for (const name of unready) metrics.set(name, 0);
}

/** Reports whether the assumptions turn the change around, or the size would change against the usage. */
const isContrary = (ratio: number, after: number, change: number): boolean =>
  isOpposite(ratio, after) || isOpposite(after, change);

const isTolerated = (ratio: number, { down, up }: Tolerances): boolean =>
  ratio >= 1 - down && ratio <= 1 + up;

/** Reports whether one ratio calls for less and the other for more. */
const isOpposite = (one: number, other: number): boolean => (one < 1 && other > 1) || (one > 1 && other < 1);

const assumed = (target: UsageTarget, request: number): number =>
  'averageValue' in target
    ? target.averageValue
    : Math.trunc((request * Math.max(100, target.utilization)) / 100);
