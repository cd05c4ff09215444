import type { MetricFamily } from '../../../metrics/family.ts';
import { Counter, Histogram } from '../../../metrics/metrics.ts';
import type { Operation } from '../plugin.ts';
import type { Webhook } from './webhook.ts';

/** How a call of a webhook ended. */
export interface CallOutcome {
  readonly operation: Operation;
  readonly seconds: number;
  readonly rejected: boolean;
  /** Status code of the rejection or failure; 200 for an allowed request, 0 where there is none. */
  readonly code: number;
  /** Why a request was rejected. */
  readonly error?: 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';
}

/** kube-apiserver's buckets of the time that webhooks take, seconds. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

const types = { mutating: 'admit', validating: 'validating' } as const;

/** WebhookMetrics counts calls of admission webhooks under kube-apiserver's names. */
export class WebhookMetrics {
  readonly #durations = new Histogram(
    'apiserver_admission_webhook_admission_duration_seconds',
    'Time that calls of admission webhooks took, seconds.',
    buckets,
  );
  readonly #requests = new Counter(
    'apiserver_admission_webhook_request_total',
    'Number of calls of admission webhooks.',
  );
  readonly #rejections = new Counter(
    'apiserver_admission_webhook_rejection_count',
    'Number of requests that admission webhooks rejected, or that were rejected as a webhook failed.',
  );
  readonly #failedOpen = new Counter(
    'apiserver_admission_webhook_fail_open_count',
    'Number of requests that were admitted although an admission webhook failed.',
  );

  readonly #exclusions = new Counter(
    'apiserver_admission_match_condition_exclusions_total',
    'Number of requests that match conditions left out.',
  );

  observe({ name, type }: Webhook, { operation, seconds, rejected, code, error }: CallOutcome): void {
    const labels = { name, type: types[type], operation, rejected: String(rejected) };
    this.#durations.observe(labels, seconds);
    this.#requests.add({ ...labels, code: String(Math.min(code, 600)) });
    if (rejected && error !== undefined)
      this.#rejections.add({
        name,
        type: types[type],
        operation,
        error_type: error,
        rejection_code: String(Math.min(code, 600)),
      });
  }

  /** Counts a request that the match conditions of a webhook leave out. */
  excluded({ name, type }: Webhook, operation: Operation): void {
    this.#exclusions.add({ name, kind: 'webhook', type: types[type], operation });
  }

  /** Counts a request that was admitted although its webhook failed. */
  failedOpen({ name, type }: Webhook): void {
    this.#failedOpen.add({ name, type: types[type] });
  }

  families(): readonly MetricFamily[] {
    return [this.#durations, this.#requests, this.#rejections, this.#failedOpen, this.#exclusions].map(
      (one) => one.collect(),
    );
  }
}
