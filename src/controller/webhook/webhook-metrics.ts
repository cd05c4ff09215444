import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, defaultBuckets, Histogram } from '../../metrics/metrics.ts';
import type { Collector } from '../metrics/registry.ts';

/** Counts the requests of one webhook. */
export interface MetricsOfWebhook {
  started(): void;
  /** @param ms how long it took */
  ended(code: number, ms: number): void;
}

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

  /** Adds the series of a webhook, at 0, and returns its counters. */
  add(webhook: string): MetricsOfWebhook {
    const inFlight = this.#inFlight.with({ webhook });
    const latency = this.#latency.with({ webhook });
    const requests = new Map<number, { value: number }>();
    const requestsOf = (code: number): { value: number } => {
      const found = requests.get(code) ?? this.#requests.with({ webhook, code: String(code) });
      requests.set(code, found);
      return found;
    };
    for (const code of [200, 500]) requestsOf(code);
    return {
      started: () => {
        inFlight.value++;
      },
      ended: (code, ms) => {
        inFlight.value--;
        requestsOf(code).value++;
        latency.observe(ms / 1000);
      },
    };
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
