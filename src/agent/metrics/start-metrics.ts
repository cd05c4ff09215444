import { uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type {
  ContainerType,
  HookCounts,
  PullCounts,
  StartCounts,
} from '../../containers/container/counts.ts';
import { wantsOwnUsers } from '../../containers/kuberuntime/config/user-namespace.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { PodStarts } from '../../pods/metrics/pod-starts.ts';
import type { MetricFamily } from '../../metrics/family.ts';

/** StartMetrics counts started pods and containers, when the agent itself creates sandboxes and containers. */
export class StartMetrics implements StartCounts, PullCounts, HookCounts {
  readonly #pods = new Counter('kubelet_started_pods_total', 'Cumulative number of pods started');
  readonly #podErrors = new Counter(
    'kubelet_started_pods_errors_total',
    'Cumulative number of errors when starting pods',
  );
  readonly #containers = new Counter(
    'kubelet_started_containers_total',
    'Cumulative number of containers started',
  );
  readonly #containerErrors = new Counter(
    'kubelet_started_containers_errors_total',
    'Cumulative number of errors when starting containers',
  );

  readonly #userNamespaced = new Counter(
    'kubelet_started_user_namespaced_pods_total',
    'Cumulative number of pods with user namespaces started',
  );
  readonly #userNamespacedErrors = new Counter(
    'kubelet_started_user_namespaced_pods_errors_total',
    'Cumulative number of errors when starting pods with user namespaces',
  );

  readonly #pulls = new Histogram(
    'kubelet_image_pull_duration_seconds',
    'Duration in seconds of image pulls including the wait in the queue, by image size',
    [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  );
  readonly #imagesRemoved = new Counter(
    'kubelet_image_garbage_collected_total',
    'Cumulative number of images removed by garbage collection, because of their age or of disk space',
  );
  readonly #imageVolumes = {
    requested: new Counter(
      'kubelet_image_volume_requested_total',
      'Cumulative number of requested image volumes',
    ),
    mounted: new Counter(
      'kubelet_image_volume_mounted_succeed_total',
      'Cumulative number of image volumes mounted in containers',
    ),
    failed: new Counter(
      'kubelet_image_volume_mounted_errors_total',
      'Cumulative number of failed mounts of image volumes',
    ),
  };
  readonly #fallbacks = new Counter(
    'kubelet_lifecycle_handler_http_fallbacks_total',
    'Cumulative number of HTTPS lifecycle hooks that fell back to HTTP',
  );
  readonly #sleepsEnded = new Counter(
    'kubelet_sleep_action_terminated_early_total',
    'Cumulative number of sleep lifecycle hooks that were interrupted',
  );
  readonly #resizes = new Histogram(
    'kubelet_pod_resize_duration_milliseconds',
    'Duration in milliseconds of in-place pod resizes, by success',
    [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
  );
  readonly #starts: () => PullAndInitTimes | undefined;

  /** @param starts returns the tracker of pod starts */
  constructor(starts: () => PullAndInitTimes | undefined = () => undefined) {
    this.#starts = starts;
  }

  /** The counters that are exposed from the beginning, with value 0. */
  get #plain(): readonly Counter[] {
    const { requested, mounted, failed } = this.#imageVolumes;
    const pods = [this.#pods, this.#podErrors, this.#userNamespaced, this.#userNamespacedErrors];
    return [...pods, requested, mounted, failed, this.#fallbacks, this.#sleepsEnded];
  }

  collect(): readonly MetricFamily[] {
    const others = [this.#containers, this.#containerErrors, this.#imagesRemoved, this.#pulls, this.#resizes];
    return [...this.#plain, ...others].map((one) => one.collect());
  }

  /** Returns the counters for a provider; from this call on the pod counters are exposed, initially 0. */
  counts(): StartCounts & PullCounts & HookCounts {
    for (const counter of this.#plain) counter.add({}, 0);
    return this;
  }

  pod(pod: Pod): void {
    this.#pods.add({});
    if (wantsOwnUsers(pod)) this.#userNamespaced.add({});
  }

  podFailed(pod: Pod): void {
    this.#podErrors.add({});
    if (wantsOwnUsers(pod)) this.#userNamespacedErrors.add({});
  }

  container(container_type: ContainerType): void {
    this.#containers.add({ container_type });
  }

  containerFailed(container_type: ContainerType, code: string, pod: Pod): void {
    this.#containerErrors.add({ code, container_type });
    if (wantsOwnUsers(pod)) this.#userNamespacedErrors.add({});
  }

  initStarted(pod: Pod): void {
    this.#starts()?.initBegan(uidOf(pod));
  }

  initEnded(pod: Pod, endedAt: number): void {
    this.#starts()?.initEnded(uidOf(pod), endedAt);
  }

  pulling(podUid: string): void {
    this.#starts()?.pullBegan(podUid);
  }

  pulled(podUid: string, tookMs: number, bytes: number): void {
    this.#starts()?.pullEnded(podUid);
    this.#pulls.observe({ image_size_in_bytes: sizeOf(bytes) }, tookMs / 1000);
  }

  imageVolumes({ requested, mounts, outcome }: Parameters<StartCounts['imageVolumes']>[0]): void {
    this.#imageVolumes.requested.add({}, requested);
    this.#imageVolumes[outcome].add({}, mounts);
  }

  readonly imageRemoved = (reason: 'age' | 'space'): void => {
    this.#imagesRemoved.add({ reason });
  };

  httpFallback(): void {
    this.#fallbacks.add({});
  }

  sleepEnded(): void {
    this.#sleepsEnded.add({});
  }

  resized(tookMs: number, success: boolean): void {
    this.#resizes.observe({ success: String(success) }, Math.floor(tookMs));
  }
}

/** The parts of a pod start that are excluded from its latency. */
type PullAndInitTimes = Pick<PodStarts, 'pullBegan' | 'pullEnded' | 'initBegan' | 'initEnded'>;

const [mega, giga] = [2 ** 20, 2 ** 30];

/** The label values by image size: the lower bound in bytes, largest first. */
const sizes: readonly (readonly [above: number, name: string])[] = [
  [100 * giga, 'GT100GB'],
  [60 * giga, '60GB-100GB'],
  [40 * giga, '40GB-60GB'],
  [30 * giga, '30GB-40GB'],
  [20 * giga, '20GB-30GB'],
  [10 * giga, '10GB-20GB'],
  [5 * giga, '5GB-10GB'],
  [giga, '1GB-5GB'],
  [500 * mega, '500MB-1GB'],
  [100 * mega, '100MB-500MB'],
  [10 * mega, '10MB-100MB'],
  [0, '0-10MB'],
];

const sizeOf = (bytes: number): string => sizes.find(([above]) => bytes > above)?.[1] ?? 'N/A';
