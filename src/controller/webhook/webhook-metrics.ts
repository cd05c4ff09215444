import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, defaultBuckets, Histogram } from '../../metrics/metrics.ts';
import type { Collector } from '../metrics/registry.ts';

/** WebhookMetrics counts for one webhook server, under controller-runtime's names. */
export class WebhookMetrics implements Collector {
  readonly #requests = new Counter(
    'controller_runtime_webhook_requests_total',
    'Total number of admission requests by HTTP status code.',
  );
  readonly #latency = new Histogram(
    'controller_runtime_webhook_latency_seconds',
    'Histogram of the latency of processing admission requests',
    defaultBuckets,
  );
  readonly #inFlight = new Counter(
    'controller_runtime_webhook_requests_in_flight',
    'Current number of admission requests being served.',
    'gauge',
  );
  readonly #panics = new Counter('controller_runtime_webhook_panics_total', 'Total number of webhook panics');
  readonly #conversionPanics = new Counter(
    'controller_runtime_conversion_webhook_panics_total',
    'Total number of conversion webhook panics',
  );

  constructor() {
    this.#panics.with({});
    this.#conversionPanics.with({});
  }

  /** Adds the series of a webhook, at 0. */
  add(webhook: string): void {
    this.#inFlight.with({ webhook });
    for (const code of ['200', '500']) this.#requests.with({ webhook, code });
  }

  started(webhook: string): void {
    this.#inFlight.add({ webhook });
  }

  /** @param ms how long it took */
  ended(webhook: string, code: number, ms: number): void {
    this.#inFlight.add({ webhook }, -1);
    this.#requests.add({ webhook, code: String(code) });
    this.#latency.observe({ webhook }, ms / 1000);
  }

  panicked(type: 'admission' | 'conversion'): void {
    (type === 'admission' ? this.#panics : this.#conversionPanics).add({});
  }

  collect(): readonly MetricFamily[] {
    return [this.#requests, this.#latency, this.#inFlight, this.#panics, this.#conversionPanics].map(
      (metric) => metric.collect(),
    );
  }
}
