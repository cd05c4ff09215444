import { type Clock, steadyNow } from '../base/clock.ts';
import { Counter, Histogram } from '../metrics/metrics.ts';
import { splitTarget } from './mux.ts';
import type { Reply, ServerRequest } from './reply.ts';
import type { MetricFamily } from '../metrics/family.ts';

const longRunning = new Set(['exec', 'attach', 'portforward', 'containerlogs']);

/** ServerMetrics counts requests under the kubelet's metric names. */
export class ServerMetrics {
  readonly #clock: Clock;
  readonly #serverType: string;
  readonly #requests = new Counter(
    'kubelet_http_requests_total',
    'Number of the http requests received since the server started',
  );
  readonly #inFlight = new Counter(
    'kubelet_http_inflight_requests',
    'Number of the inflight http requests',
    'gauge',
  );
  readonly #durations = new Histogram(
    'kubelet_http_requests_duration_seconds',
    'Duration in seconds to serve http requests',
  );

  constructor(clock: Clock, serverType: string) {
    this.#clock = clock;
    this.#serverType = serverType;
  }

  /** Counts a request around its handling. */
  async around(request: ServerRequest, handle: () => Promise<Reply>): Promise<Reply> {
    const labels = labelsOf(request, this.#serverType);
    const startedAt = steadyNow(this.#clock);
    this.#requests.add(labels);
    this.#inFlight.add(labels);
    try {
      return await handle();
    } finally {
      this.#inFlight.add(labels, -1);
      this.#durations.observe(labels, (steadyNow(this.#clock) - startedAt) / 1000);
    }
  }

  collect(): readonly MetricFamily[] {
    return [this.#requests.collect(), this.#inFlight.collect(), this.#durations.collect()];
  }
}

/** Paths counted by name; unknown paths add no new series. */
const knownPaths = new Set(
  'attach checkpoint configz containerLogs debug exec flagz healthz logs metrics pods portForward run runningpods stats statusz'.split(
    ' ',
  ),
);
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Returns the label a path is counted under. */
export function pathLabel(path: string): string {
  const first = path.split('/')[1] ?? '';
  if (!knownPaths.has(first)) return 'other';
  return first === 'metrics' || first === 'stats' ? metricPath(path) : first;
}

function labelsOf({ method, target }: ServerRequest, serverType: string): Readonly<Record<string, string>> {
  const { path } = splitTarget(target);
  const first = path.split('/')[1] ?? '';
  return {
    method: knownMethods.has(method) ? method : 'other',
    path: pathLabel(path),
    server_type: serverType,
    long_running: String(longRunning.has(first.toLowerCase())),
  };
}

const subPaths = new Set(
  'metrics/cadvisor metrics/probes metrics/resource metrics/slis stats/summary'.split(' '),
);
const metricPath = (path: string): string => {
  const two = path.split('/').slice(1, 3).join('/');
  return subPaths.has(two) ? two : (path.split('/')[1] ?? '');
};
