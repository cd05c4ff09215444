import { type Clock, steadyNow } from '../../base/clock.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';
import type { PodSyncer } from '../../podworkers/pod-syncer.ts';
import type { Prober } from '../../prober/prober.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import { firstSeenAt, PodMetrics } from './pod-metrics.ts';
import { PodStarts, startBuckets } from './pod-starts.ts';
import type { MetricFamily } from '../../metrics/family.ts';

type Probe = Pick<Prober, 'probe'>;

/** EngineMetrics holds the metrics of the engines, with the kubelet's names (pkg/kubelet/metrics). */
export class EngineMetrics {
  /** The metrics of pod lifecycles. */
  readonly pods: PodMetrics;
  /** The start latency of pods. */
  readonly starts: PodStarts;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #relists = new Histogram(
    'kubelet_pleg_relist_duration_seconds',
    'Duration in seconds for relisting pods in PLEG.',
  );
  readonly #intervals = new Histogram(
    'kubelet_pleg_relist_interval_seconds',
    'Interval in seconds between relisting in PLEG.',
  );
  readonly #podRelists = new Histogram(
    'kubelet_pleg_pod_relist_duration_seconds',
    'Duration in seconds of on-demand relists of some pods in PLEG.',
  );
  readonly #steps = new Histogram(
    'kubelet_pod_worker_duration_seconds',
    'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  );
  readonly #starts = new Histogram(
    'kubelet_pod_start_duration_seconds',
    'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
    startBuckets,
  );
  readonly #probes = new Counter(
    'prober_probe_total',
    'Cumulative number of a liveness, readiness or startup probe for a container by result.',
  );
  readonly #probeDurations = new Histogram(
    'prober_probe_duration_seconds',
    'Duration in seconds for a probe response.',
  );
  /** When each pod that has not run yet was first seen, by UID; ms since the epoch. */
  readonly #firstSeen = new Map<string, number | 'counted'>();
  #relistedAt: number | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.pods = new PodMetrics(clock);
    this.starts = new PodStarts(clock);
  }

  /** For `/metrics`. */
  collect(): readonly MetricFamily[] {
    const seen = this.#relistedAt;
    const spans = [this.#relists, this.#podRelists, this.#intervals, this.#steps, this.#starts];
    return [
      ...spans.map((one) => one.collect()),
      ...this.pods.collect(),
      ...this.starts.collect(),
      {
        name: 'kubelet_pleg_last_seen_seconds',
        type: 'gauge',
        help: 'Timestamp in seconds when PLEG was last seen active.',
        samples: seen === undefined ? [] : [{ value: Math.floor(seen / 1000) }],
      },
    ];
  }

  /** For `/metrics/probes`. */
  collectProbes(): readonly MetricFamily[] {
    return [this.#probes.collect(), this.#probeDurations.collect()];
  }

  readonly relisted = (durationMs: number): void => {
    const startedAt = this.#clock.now() - durationMs;
    this.#relists.observe({}, durationMs / 1000);
    if (this.#relistedAt !== undefined) this.#intervals.observe({}, (startedAt - this.#relistedAt) / 1000);
    this.#relistedAt = startedAt;
  };

  readonly relistedSome = (durationMs: number): void => {
    this.#podRelists.observe({}, durationMs / 1000);
  };

  /** Wraps a syncer and measures its steps. @param statusOf returns the newest status of a pod */
  syncer(steps: PodSyncer, statusOf: (uid: string) => PodStatus | undefined): PodSyncer {
    const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
      const startedAt = steadyNow(this.#clock);
      try {
        return await work();
      } finally {
        this.#steps.observe({ operation_type: operation }, (steadyNow(this.#clock) - startedAt) / 1000);
      }
    };
    return {
      syncPod: async (order, signal) => {
        const uid = uidOf(order.pod);
        if (!this.#firstSeen.has(uid)) {
          this.#firstSeen.set(uid, this.#firstStep(order.pod, statusOf(uid)));
          this.pods.takenUp(order.pod);
        }
        const outcome = await timed(order.updateType, () => steps.syncPod(order, signal));
        this.#started(uid, statusOf(uid));
        return outcome;
      },
      syncTerminatingPod: (order, signal) => timed('kill', () => steps.syncTerminatingPod(order, signal)),
      syncTerminatingRuntimePod: (running, signal) =>
        timed('kill', () => steps.syncTerminatingRuntimePod(running, signal)),
      syncTerminatedPod: async (order, signal) => {
        await timed('kill', () => steps.syncTerminatedPod(order, signal));
        this.#forget(order.pod);
      },
    };
  }

  /** Removes the series of a pod. */
  #forget(pod: Pod): void {
    const { namespace = '', name = '' } = pod.metadata ?? {};
    this.#firstSeen.delete(uidOf(pod));
    this.#probes.drop({ pod_uid: uidOf(pod) });
    this.#probeDurations.drop({ namespace, pod: name });
  }

  /** Records the first step of a pod; one that ran before this agent started is not counted. */
  #firstStep(pod: Pod, status: PodStatus | undefined): number | 'counted' {
    if (status?.phase !== undefined && status.phase !== 'Pending') return 'counted';
    return firstSeenAt(pod) ?? this.#clock.now();
  }

  #started(uid: string, status: PodStatus | undefined): void {
    const seenAt = this.#firstSeen.get(uid);
    if (typeof seenAt !== 'number' || status?.phase !== 'Running') return;
    this.#firstSeen.set(uid, 'counted');
    this.#starts.observe({}, (this.#clock.now() - seenAt) / 1000);
  }

  prober(prober: Probe): Probe {
    return {
      probe: async (target, status, containerId) => {
        const { namespace = '', name: pod = '' } = target.pod.metadata ?? {};
        const labels = { probe_type: titles[target.type], container: target.container.name, pod, namespace };
        const startedAt = steadyNow(this.#clock);
        const answer = await prober.probe(target, status, containerId);
        this.#probeDurations.observe(labels, (steadyNow(this.#clock) - startedAt) / 1000);
        const result = answer === undefined ? 'unknown' : answer === 'Success' ? 'successful' : 'failed';
        this.#probes.add({ ...labels, result, pod_uid: uidOf(target.pod) });
        return answer;
      },
    };
  }
}

const titles = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;

/** RuntimeCallMetrics counts calls to the runtime (kubelet `instrumentedRuntimeService`). */
export class RuntimeCallMetrics {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #calls = new Counter(
    'kubelet_runtime_operations_total',
    'Cumulative number of runtime operations by operation type.',
  );
  readonly #errors = new Counter(
    'kubelet_runtime_operations_errors_total',
    'Cumulative number of runtime operation errors by operation type.',
  );
  readonly #durations = new Histogram(
    'kubelet_runtime_operations_duration_seconds',
    'Duration in seconds of runtime operations. Broken down by operation type.',
    Array.from({ length: 14 }, (_, step) => Number((0.005 * 2.5 ** step).toPrecision(6))),
  );

  readonly #sandboxes = new Histogram(
    'kubelet_run_podsandbox_duration_seconds',
    'Duration in seconds of creating pod sandboxes. Broken down by RuntimeClass handler.',
  );
  readonly #sandboxErrors = new Counter(
    'kubelet_run_podsandbox_errors_total',
    'Cumulative number of failed pod sandbox creations by RuntimeClass handler.',
  );

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  collect(): readonly MetricFamily[] {
    const counters = [this.#calls, this.#errors, this.#sandboxErrors];
    return [...counters, this.#durations, this.#sandboxes].map((one) => one.collect());
  }

  /** Wraps a runtime or image service and counts its calls. */
  around<T extends object>(service: T): T {
    const wrapped = new Map<string, { readonly of: unknown; readonly call: unknown }>();
    return new Proxy(service, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function' || typeof name !== 'string') return value;
        const earlier = wrapped.get(name);
        if (earlier?.of === value) return earlier.call;
        const operation = operationOf(name);
        const call = (...args: readonly unknown[]): unknown => {
          const startedAt = steadyNow(this.#clock);
          const answer: unknown = Reflect.apply(value, target, args);
          if (!(answer instanceof Promise)) return answer;
          if (operation === runSandbox) void this.#countSandbox(handlerOf(args[0]), startedAt, answer);
          return this.#counted(operation, startedAt, answer);
        };
        wrapped.set(name, { of: value, call });
        return call;
      },
    });
  }

  /** Measures the creation of a sandbox. Never throws: the caller gets the result itself. */
  async #countSandbox(runtime_handler: string, startedAt: number, answer: Promise<unknown>): Promise<void> {
    await answer.catch(() => {
      this.#sandboxErrors.add({ runtime_handler });
    });
    this.#sandboxes.observe({ runtime_handler }, (steadyNow(this.#clock) - startedAt) / 1000);
  }

  async #counted<T>(operation_type: string, startedAt: number, answer: Promise<T>): Promise<T> {
    this.#calls.add({ operation_type });
    try {
      return await answer;
    } catch (reason) {
      this.#errors.add({ operation_type });
      throw reason;
    } finally {
      this.#durations.observe({ operation_type }, (steadyNow(this.#clock) - startedAt) / 1000);
    }
  }
}

const runSandbox = 'run_podsandbox';

const handlerOf = (request: unknown): string =>
  (request as { readonly runtimeHandler?: string } | undefined)?.runtimeHandler ?? '';

/** The kubelet's name of an operation: `stop_podsandbox` for `stopPodSandbox`. */
const operationOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace('pod_sandbox', 'podsandbox');
