import type { Clock } from '../../base/clock.ts';
import { annotationOf, configSeenAnnotation, isStaticPod } from '../../kube/names.ts';
import type { Pod, Container } from '../../kube/types.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { ContainerEnd } from '../../status/container-ends.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { type ResourceList, amountsOf } from '../../kube/resources/resources.ts';
import { zeroQuantity, type Quantity, compareQuantities } from '../../kube/resources/quantity.ts';
import { isRestartableInitContainer } from '../../kube/restart-policy.ts';

/** The rejection reasons that have their own label value; all others would be unbounded. */
const knownRejections = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  "node(s) had taints that the pod didn't tolerate",
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

/** PodMetrics holds the metrics of pod lifecycles, from first sight to the ends of containers, with the kubelet's names. */
export class PodMetrics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ends = new Counter(
    'kubelet_terminated_containers_total',
    'Cumulative number of terminated containers by container type, exit code and reason.',
  );
  readonly #news = new Histogram(
    'kubelet_pod_status_sync_duration_seconds',
    'Duration in seconds from the first unsent change of a pod status until the API server has accepted the status.',
    [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  );
  readonly #workerStarts = new Histogram(
    'kubelet_pod_worker_start_duration_seconds',
    'Duration in seconds from seeing a pod to starting a worker.',
  );
  readonly #sizes = new Histogram(
    'kubelet_containers_per_pod_count',
    'The number of containers per pod.',
    [1, 2, 4, 8, 16],
  );
  readonly #rejections = new Counter(
    'kubelet_admission_rejections_total',
    'Cumulative number of pods rejected at admission by reason.',
  );
  readonly #preemptions = new Counter(
    'kubelet_preemptions',
    'Cumulative number of pods preempted for critical pods, by the first resource that was insufficient.',
  );
  readonly #restarted = new Counter(
    'kubelet_restarted_pods_total',
    'Cumulative number of pods restarted because their UID was created again, static pods separately.',
  );
  readonly #orphans = new Counter(
    'kubelet_orphaned_runtime_pods_total',
    'Cumulative number of running pods found in the runtime that no source desires.',
  );

  readonly #requestedResizes = new Counter(
    'kubelet_container_requested_resizes_total',
    'Cumulative number of requested container resizes by resource, requirement and operation.',
  );
  readonly #infeasible = new Counter(
    'kubelet_pod_infeasible_resizes_total',
    'Cumulative number of infeasible pod resizes by reason detail.',
  );
  readonly #deferredAccepted = new Counter(
    'kubelet_pod_deferred_accepted_resizes_total',
    'Cumulative number of deferred pod resizes that were accepted later, by the trigger of the retry.',
  );

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#orphans.add({}, 0);
    for (const kind of ['', 'true']) this.#restarted.add({ static: kind }, 0);
  }

  collect(): readonly MetricFamily[] {
    const counters = [this.#ends, this.#rejections, this.#preemptions, this.#restarted, this.#orphans];
    const resizes = [this.#requestedResizes, this.#infeasible, this.#deferredAccepted];
    return [...counters, ...resizes, this.#news, this.#workerStarts, this.#sizes].map((one) => one.collect());
  }

  readonly containerEnded = ({ type, exitCode, reason }: ContainerEnd): void => {
    this.#ends.add({ container_type: type, exit_code: String(exitCode), reason });
  };

  readonly changeSent = (ms: number): void => {
    this.#news.observe({}, ms / 1000);
  };

  /** Records that a worker starts its first step for a pod. */
  takenUp(pod: Pod): void {
    this.#sizes.observe({}, pod.spec?.containers.length ?? 0);
    const seenAt = firstSeenAt(pod);
    if (seenAt !== undefined) this.#workerStarts.observe({}, (this.#clock.now() - seenAt) / 1000);
  }

  /** Counts a rejected pod. Follows kubelet `recordAdmissionRejection`. */
  readonly rejected = (reason: string): void => {
    const other = reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
    this.#rejections.add({ reason: knownRejections.has(reason) ? reason : other });
  };

  /** Counts a preempted pod. @param resource the insufficient resource; empty when the number of pods was the limit */
  readonly preempted = (resource: string): void => {
    this.#preemptions.add({ preemption_signal: resource });
  };

  readonly resizeRequested = (old: Pod, next: Pod): void => {
    for (const labels of requestedResizes(old, next)) this.#requestedResizes.add(labels);
  };

  readonly infeasible = (reason_detail: string): void => {
    this.#infeasible.add({ reason_detail });
  };

  readonly deferredAccepted = (retry_trigger: string): void => {
    this.#deferredAccepted.add({ retry_trigger });
  };

  readonly restarted = (pod: Pod): void => {
    this.#restarted.add({ static: isStaticPod(pod) ? 'true' : '' });
  };

  readonly orphanFound = (): void => {
    this.#orphans.add({});
  };
}

/** When a source first delivered the pod, ms since the epoch. */
export function firstSeenAt(pod: Pod): number | undefined {
  const at = Date.parse(annotationOf(pod, configSeenAnnotation) ?? '');
  return Number.isFinite(at) ? at : undefined;
}

/** The metric labels of one requested change of a container's resources. */
interface RequestedResize extends Readonly<Record<string, string>> {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const requirements = ['requests', 'limits'] as const;

const resources = ['memory', 'cpu'] as const;

/**
 * The differences in container resources between two versions of a pod, for containers that can be resized. Follows kubelet
 * `recordContainerResizeOperations`.
 */
export function requestedResizes(old: Pod, next: Pod): readonly RequestedResize[] {
  if (old.spec === next.spec) return [];
  const before = new Map(resizable(old).map((one) => [one.name, one]));
  return resizable(next).flatMap(({ name, resources: requested }) => {
    const had = before.get(name)?.resources;
    if (!before.has(name) || had === requested) return [];
    return requirements.flatMap((requirement) =>
      changes(had?.[requirement], requested?.[requirement]).map((change) => ({ ...change, requirement })),
    );
  });
}

function changes(
  had: ResourceList | undefined,
  wants: ResourceList | undefined,
): readonly Pick<RequestedResize, 'resource' | 'operation'>[] {
  const [before, after] = [amountsOf(had), amountsOf(wants)];
  return resources.flatMap((resource) => {
    const [old, next] = [before[resource] ?? zeroQuantity, after[resource] ?? zeroQuantity];
    const operation = operationOf(old, next);
    return operation ? [{ resource, operation }] : [];
  });
}

function operationOf(old: Quantity, next: Quantity): RequestedResize['operation'] | undefined {
  const difference = compareQuantities(next, old);
  if (difference === 0) return undefined;
  if (compareQuantities(next, zeroQuantity) === 0) return 'remove';
  if (compareQuantities(old, zeroQuantity) === 0) return 'add';
  return difference < 0 ? 'decrease' : 'increase';
}

const resizable = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
];
