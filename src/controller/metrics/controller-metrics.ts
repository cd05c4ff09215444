import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { QueueMetrics } from '../queue/priority-queue.ts';
import type { Collector } from './registry.ts';

/** The results of a reconcile as the metrics name them. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** The metrics of one controller. */
export interface MetricsOfController {
  readonly queue: QueueMetrics;
  /** Counts the end of a reconcile. @param ms how long it took */
  reconciled(result: ReconcileResult, ms: number): void;
  terminalError(): void;
  panicked(): void;
  timedOut(): void;
  active(change: 1 | -1): void;
  /** Sets how `workqueue_unfinished_work_seconds` is read: the time of each running reconcile, ms. */
  running(read: () => readonly number[]): void;
}

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = Array.from({ length: 12 }, (_, power) => Number(`1e${power - 8}`));

/** The priorities that get a series of their own; further ones share one, so that users' priorities cannot fill the memory. */
const maxPriorities = 25;

/** ControllerMetrics counts for all controllers of a manager, under the names that dashboards for controller-runtime use. */
export class ControllerMetrics implements Collector {
  readonly #total = new Counter(
    'controller_runtime_reconcile_total',
    'Total number of reconciliations per controller',
  );
  readonly #errors = new Counter(
    'controller_runtime_reconcile_errors_total',
    'Total number of reconciliation errors per controller',
  );
  readonly #terminal = new Counter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Total number of terminal reconciliation errors per controller',
  );
  readonly #panics = new Counter(
    'controller_runtime_reconcile_panics_total',
    'Total number of reconciliation panics per controller',
  );
  readonly #timeouts = new Counter(
    'controller_runtime_reconcile_timeouts_total',
    'Total number of reconciliation timeouts per controller',
  );
  readonly #time = new Histogram(
    'controller_runtime_reconcile_time_seconds',
    'Length of time per reconciliation per controller',
    reconcileBuckets,
  );
  readonly #workers = new Counter(
    'controller_runtime_max_concurrent_reconciles',
    'Maximum number of concurrent reconciles per controller',
    'gauge',
  );
  readonly #active = new Counter(
    'controller_runtime_active_workers',
    'Number of currently used workers per controller',
    'gauge',
  );
  readonly #depth = new Counter(
    'workqueue_depth',
    'Current depth of workqueue by workqueue and priority',
    'gauge',
  );
  readonly #adds = new Counter('workqueue_adds_total', 'Total number of adds handled by workqueue');
  readonly #latency = new Histogram(
    'workqueue_queue_duration_seconds',
    'How long in seconds an item stays in workqueue before being requested',
    queueBuckets,
  );
  readonly #work = new Histogram(
    'workqueue_work_duration_seconds',
    'How long in seconds processing an item from workqueue takes.',
    queueBuckets,
  );
  readonly #retries = new Counter(
    'workqueue_retries_total',
    'Total number of items added to the workqueue with a delay, for example after an error',
  );
  readonly #running = new Map<string, () => readonly number[]>();

  /** @param usePriority whether the depth is split by priority */
  forController(name: string, workers: number, usePriority = true): MetricsOfController {
    const controller = { controller: name };
    const total = (result: ReconcileResult): { value: number } => this.#total.with({ ...controller, result });
    const totals = {
      error: total('error'),
      requeue_after: total('requeue_after'),
      requeue: total('requeue'),
      success: total('success'),
    };
    const [errors, terminal] = [this.#errors.with(controller), this.#terminal.with(controller)];
    const [panics, timeouts] = [this.#panics.with(controller), this.#timeouts.with(controller)];
    const [time, active] = [this.#time.with(controller), this.#active.with(controller)];
    this.#workers.with(controller).value = workers;
    return {
      queue: this.#queue(name, usePriority),
      reconciled: (result, ms) => {
        totals[result].value++;
        if (result === 'error') errors.value++;
        time.observe(ms / 1000);
      },
      terminalError: () => {
        terminal.value++;
      },
      panicked: () => {
        panics.value++;
      },
      timedOut: () => {
        timeouts.value++;
      },
      active: (change) => {
        active.value += change;
      },
      running: (read) => void this.#running.set(name, read),
    };
  }

  collect(): readonly MetricFamily[] {
    const counters = [
      ...[this.#total, this.#errors, this.#terminal, this.#panics, this.#timeouts, this.#time],
      ...[this.#workers, this.#active, this.#depth, this.#adds, this.#latency, this.#work, this.#retries],
    ];
    return [...counters.map((counter) => counter.collect()), ...this.#unfinished()];
  }

  #queue(name: string, usePriority: boolean): QueueMetrics {
    const labels = { name, controller: name };
    const adds = this.#adds.with(labels);
    const retries = this.#retries.with(labels);
    const latency = this.#latency.with(labels);
    const work = this.#work.with(labels);
    const depths = new Map<number, { value: number }>();
    const depthOf = (priority: number): { value: number } => {
      const found = depths.get(priority);
      if (found) return found;
      const text = depths.size < maxPriorities ? String(priority) : 'exceeded_cardinality_limit';
      const depth = this.#depth.with({ ...labels, priority: usePriority ? text : '' });
      if (depths.size < maxPriorities) depths.set(priority, depth);
      return depth;
    };
    depthOf(0);
    return {
      depth: (priority, change) => {
        depthOf(priority).value += change;
      },
      added: () => {
        adds.value++;
      },
      waited: (ms) => {
        latency.observe(ms / 1000);
      },
      worked: (ms) => {
        work.observe(ms / 1000);
      },
      retried: () => {
        retries.value++;
      },
    };
  }

  #unfinished(): readonly MetricFamily[] {
    const gauge = (
      metric: string,
      help: string,
      value: (running: readonly number[]) => number,
    ): MetricFamily => ({
      name: metric,
      type: 'gauge',
      help,
      samples: [...this.#running].map(([name, read]) => ({
        labels: { name, controller: name },
        value: value(read()) / 1000,
      })),
    });
    return [
      gauge(
        'workqueue_unfinished_work_seconds',
        'How many seconds of work is in progress that work_duration has not observed. Large values indicate stuck workers.',
        (running) => running.reduce((sum, ms) => sum + ms, 0),
      ),
      gauge(
        'workqueue_longest_running_processor_seconds',
        'How many seconds the longest running processor of the workqueue has been running.',
        (running) => Math.max(0, ...running),
      ),
    ];
  }
}
