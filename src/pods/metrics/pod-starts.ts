import type { Clock } from '../../base/clock.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import { Histogram, single } from '../../metrics/metrics.ts';
import { isTerminalPhase } from '../../kube/pod-phase.ts';
import type { MetricFamily } from '../../metrics/family.ts';

/** The kubelet's bounds for starts of pods, seconds. */
export const startBuckets: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
]; // prettier-ignore

/** What is known of a pod that starts; all times ms since the epoch. */
interface Start {
  /** Pulls that go on, oldest first. */
  readonly pulling: number[];
  readonly pulls: { readonly from: number; readonly to: number }[];
  initBeganAt: number | undefined;
  initMs: number;
  /** When the API server was told that all containers have started. */
  toldAt: number | undefined;
  /** When it showed that, should its word have come before its answer. */
  shownAt: number | undefined;
}

/** A pod whose start does not count, or was counted. */
type Tracked = Start | 'left out' | 'counted';

/**
 * How long pods take from their creation to when the API server shows all their containers started. Pods that had started before
 * this agent saw them, and those that had to wait for room in the cluster, do not count.
 *
 * Follows kubelet `basicPodStartupLatencyTracker`.
 */
export class PodStarts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pods = new Map<string, Tracked>();
  readonly #total = new Histogram(
    'kubelet_pod_start_total_duration_seconds',
    'Seconds from the creation of a pod until all its containers were seen started, pulls and init containers included',
    startBuckets,
  );
  readonly #sli = new Histogram(
    'kubelet_pod_start_sli_duration_seconds',
    'Seconds from the creation of a pod until all its containers were seen started, less pulls of images and init containers',
    startBuckets,
  );
  #firstNetworkSeconds: number | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  collect(): readonly MetricFamily[] {
    return [
      this.#total.collect(),
      this.#sli.collect(),
      single(
        'kubelet_first_network_pod_start_sli_duration_seconds',
        'gauge',
        'Seconds that the first pod with a network of its own took to start, less pulls of images and init containers',
        this.#firstNetworkSeconds ?? 0,
      ),
    ];
  }

  /** A pod as the API server shows it. */
  observed(pod: Pod): void {
    const uid = uidOf(pod);
    const { phase, startTime } = pod.status ?? {};
    const tracked = this.#pods.get(uid);
    if (isTerminalPhase(phase)) this.#pods.delete(uid);
    else if (!tracked) {
      if (startTime === undefined) this.#pods.set(uid, isUnschedulable(pod) ? 'left out' : newStart());
    } else if (typeof tracked !== 'string') this.#look(uid, pod, tracked);
  }

  #look(uid: string, pod: Pod, start: Start): void {
    if (isUnschedulable(pod)) this.#pods.set(uid, 'left out');
    else if (hasStarted(pod)) {
      start.shownAt ??= this.#clock.now();
      if (start.toldAt !== undefined) this.#count(uid, pod, start);
    }
  }

  /** The API server has taken a pod's status; this is its answer. */
  told(pod: Pod): void {
    const uid = uidOf(pod);
    const start = this.#pods.get(uid);
    if (!start || typeof start === 'string' || start.toldAt !== undefined || !hasStarted(pod)) return;
    start.toldAt = this.#clock.now();
    if (start.shownAt !== undefined) this.#count(uid, pod, start);
  }

  #count(uid: string, pod: Pod, start: Start): void {
    this.#pods.set(uid, 'counted');
    const createdAt = Date.parse(pod.metadata?.creationTimestamp ?? '');
    const totalMs = (start.shownAt ?? this.#clock.now()) - createdAt;
    if (!Number.isFinite(totalMs)) return;
    this.#total.observe({}, totalMs / 1000);
    if (pod.spec?.volumes?.some(keepsState)) return;
    const sli = (totalMs - pullMs(start.pulls) - start.initMs) / 1000;
    this.#sli.observe({}, sli);
    if (pod.spec?.hostNetwork !== true) this.#firstNetworkSeconds ??= sli;
  }

  pullBegan(uid: string): void {
    this.#starting(uid)?.pulling.push(this.#clock.now());
  }

  pullEnded(uid: string): void {
    const start = this.#starting(uid);
    const from = start?.pulling.shift();
    if (from !== undefined) start?.pulls.push({ from, to: this.#clock.now() });
  }

  /** One that goes on beside the others does not count. */
  initBegan(uid: string): void {
    const start = this.#starting(uid);
    if (start) start.initBeganAt = this.#clock.now();
  }

  /** @param endedAt ms since the epoch */
  initEnded(uid: string, endedAt: number): void {
    const start = this.#starting(uid);
    if (start?.initBeganAt === undefined) return;
    start.initMs += Math.max(0, endedAt - start.initBeganAt);
    start.initBeganAt = undefined;
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  #starting(uid: string): Start | undefined {
    const tracked = this.#pods.get(uid);
    return typeof tracked === 'string' ? undefined : tracked;
  }
}

const newStart = (): Start => ({
  pulling: [],
  pulls: [],
  initBeganAt: undefined,
  initMs: 0,
  toldAt: undefined,
  shownAt: undefined,
});

/** A time in which two images were pulled counts once. */
function pullMs(pulls: Start['pulls']): number {
  let total = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of pulls) {
    total += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return total;
}

const hasStarted = ({ status }: Pod): boolean =>
  (status?.containerStatuses ?? []).length > 0 &&
  (status?.containerStatuses ?? []).every(({ state }) => state?.running?.startedAt !== undefined);

const isUnschedulable = ({ status }: Pod): boolean =>
  status?.conditions?.some((one) => one.type === 'PodScheduled' && one.status === 'False') === true;

/** What a pod with such a volume waits for is not the node's doing. */
const keepsState = ({ secret, configMap, downwardAPI, emptyDir, projected }: Volume): boolean =>
  !(secret ?? configMap ?? downwardAPI ?? emptyDir ?? projected);
