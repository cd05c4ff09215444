import type { Clock } from '../../base/clock.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import { Histogram, single } from '../../metrics/metrics.ts';
import { isTerminalPhase } from '../../kube/pod-phase.ts';
import type { MetricFamily } from '../../metrics/family.ts';

/** The kubelet's histogram buckets for pod starts, seconds. */
export const startBuckets: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
]; // prettier-ignore

/** The state of a starting pod; all times are ms since the epoch. */
interface Start {
  /** The pulls in progress, oldest first. */
  readonly pulling: number[];
  readonly pulls: { readonly from: number; readonly to: number }[];
  initBeganAt: number | undefined;
  initMs: number;
  /** When a status was sent in which all containers have started. */
  reportedAt: number | undefined;
  /** When the watch showed that status, if it arrived before the response. */
  shownAt: number | undefined;
}

/** A starting pod, or one whose start is excluded or was counted. */
type Tracked = Start | 'left out' | 'counted';

/**
 * PodStarts measures the time from a pod's creation until the API server shows all its containers started. Pods that had started before
 * this agent saw them, and pods that had to wait for room in the cluster, are excluded.
 *
 * Follows kubelet `basicPodStartupLatencyTracker`.
 */
export class PodStarts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pods = new Map<string, Tracked>();
  readonly #total = new Histogram(
    'kubelet_pod_start_total_duration_seconds',
    'Duration in seconds from the creation of a pod until all its containers are observed as started, including image pulls and init containers.',
    startBuckets,
  );
  readonly #sli = new Histogram(
    'kubelet_pod_start_sli_duration_seconds',
    'Duration in seconds from the creation of a pod until all its containers are observed as started, excluding image pulls and init containers.',
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
        'Duration in seconds of the start of the first pod that is not on the host network, excluding image pulls and init containers.',
        this.#firstNetworkSeconds ?? 0,
      ),
    ];
  }

  /** Records a pod as the API server shows it. */
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
      if (start.reportedAt !== undefined) this.#count(uid, pod, start);
    }
  }

  /** Records a pod from the response to a sent status. */
  statusSent(pod: Pod): void {
    const uid = uidOf(pod);
    const start = this.#pods.get(uid);
    if (!start || typeof start === 'string' || start.reportedAt !== undefined || !hasStarted(pod)) return;
    start.reportedAt = this.#clock.now();
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

  /** Records the start of an init container; sidecars are excluded. */
  initBegan(uid: string): void {
    const start = this.#starting(uid);
    if (start) start.initBeganAt = this.#clock.now();
  }

  /** Records the end of an init container. @param endedAt ms since the epoch */
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
  reportedAt: undefined,
  shownAt: undefined,
});

/** The time spent in pulls, ms; overlapping pulls count once. */
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

/** True for a volume with persistent state, whose delays are not caused by the node. */
const keepsState = ({ secret, configMap, downwardAPI, emptyDir, projected }: Volume): boolean =>
  !(secret ?? configMap ?? downwardAPI ?? emptyDir ?? projected);
