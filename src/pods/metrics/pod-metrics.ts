import type { Clock } from '../../base/clock.ts';
import { annotationOf, configSeenAnnotation, isStaticPod } from '../../kube/names.ts';
import type { Pod, Container } from '../../kube/types.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { ContainerEnd } from '../../status/container-ends.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { type ResourceList, amountsOf } from '../../kube/resources/resources.ts';
import { zeroQuantity, type Quantity, compareQuantities } from '../../kube/resources/quantity.ts';
import { isRestartableInitContainer } from '../../kube/restart-policy.ts';

/** Reasons to refuse a pod that are counted by name; others could be any number. */
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

/** What becomes of pods, from when they are seen to how their containers end, under the kubelet's names. */
export class PodMetrics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ends = new Counter(
    'kubelet_terminated_containers_total',
    'Containers that have ended, by kind, exit code and reason',
  );
  readonly #news = new Histogram(
    'kubelet_pod_status_sync_duration_seconds',
    'Seconds from the first change of a pod status until the API server has it, those that came meanwhile included',
    [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  );
  readonly #workerStarts = new Histogram(
    'kubelet_pod_worker_start_duration_seconds',
    'Seconds from when a pod was seen until its worker first takes it up',
  );
  readonly #sizes = new Histogram(
    'kubelet_containers_per_pod_count',
    'How many containers pods have',
    [1, 2, 4, 8, 16],
  );
  readonly #rejections = new Counter(
    'kubelet_admission_rejections_total',
    'Pods that were refused, by reason',
  );
  readonly #preemptions = new Counter(
    'kubelet_preemptions',
    'Pods that had to make room for a critical one, by the first resource that was short',
  );
  readonly #restarted = new Counter(
    'kubelet_restarted_pods_total',
    'Pods that were made anew under the same UID, and so start again; static ones apart',
  );
  readonly #orphans = new Counter(
    'kubelet_orphaned_runtime_pods_total',
    'Pods that the runtime runs and nobody else knows of',
  );

  readonly #resizesAsked = new Counter(
    'kubelet_container_requested_resizes_total',
    'Changes of what containers ask for or are limited to, by resource and by what is done to the amount',
  );
  readonly #infeasible = new Counter(
    'kubelet_pod_infeasible_resizes_total',
    'Resizes that can never be done here, by why not',
  );
  readonly #deferredAccepted = new Counter(
    'kubelet_pod_deferred_accepted_resizes_total',
    'Resizes that were accepted after they had waited, by what they were tried again for',
  );

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#orphans.add({}, 0);
    for (const kind of ['', 'true']) this.#restarted.add({ static: kind }, 0);
  }

  collect(): readonly MetricFamily[] {
    const counters = [this.#ends, this.#rejections, this.#preemptions, this.#restarted, this.#orphans];
    const resizes = [this.#resizesAsked, this.#infeasible, this.#deferredAccepted];
    return [...counters, ...resizes, this.#news, this.#workerStarts, this.#sizes].map((one) => one.collect());
  }

  readonly containerEnded = ({ type, exitCode, reason }: ContainerEnd): void => {
    this.#ends.add({ container_type: type, exit_code: String(exitCode), reason });
  };

  readonly newsTold = (ms: number): void => {
    this.#news.observe({}, ms / 1000);
  };

  /** A worker takes up a pod for the first time. */
  takenUp(pod: Pod): void {
    this.#sizes.observe({}, pod.spec?.containers.length ?? 0);
    const seenAt = firstSeenAt(pod);
    if (seenAt !== undefined) this.#workerStarts.observe({}, (this.#clock.now() - seenAt) / 1000);
  }

  /** Follows kubelet `recordAdmissionRejection`. */
  readonly rejected = (reason: string): void => {
    const other = reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
    this.#rejections.add({ reason: knownRejections.has(reason) ? reason : other });
  };

  /** @param resource what was short; empty: pods were too many */
  readonly preempted = (resource: string): void => {
    this.#preemptions.add({ preemption_signal: resource });
  };

  readonly resizeAsked = (old: Pod, next: Pod): void => {
    for (const labels of requestedResizes(old, next)) this.#resizesAsked.add(labels);
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

/** When the sources first had a pod, ms since the epoch. */
export function firstSeenAt(pod: Pod): number | undefined {
  const at = Date.parse(annotationOf(pod, configSeenAnnotation) ?? '');
  return Number.isFinite(at) ? at : undefined;
}

/** One amount of one container that is to change, as metrics label it. */
interface RequestedResize extends Readonly<Record<string, string>> {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const requirements = ['requests', 'limits'] as const;

const resources = ['memory', 'cpu'] as const;

/** What differs between two versions of a pod in the amounts of containers that can be resized. Follows kubelet `recordContainerResizeOperations`. */
export function requestedResizes(old: Pod, next: Pod): readonly RequestedResize[] {
  if (old.spec === next.spec) return [];
  const before = new Map(resizable(old).map((one) => [one.name, one]));
  return resizable(next).flatMap(({ name, resources: wanted }) => {
    const had = before.get(name)?.resources;
    if (!before.has(name) || had === wanted) return [];
    return requirements.flatMap((requirement) =>
      changes(had?.[requirement], wanted?.[requirement]).map((change) => ({ ...change, requirement })),
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
