import { type Clock, steadyNow } from '../../base/clock.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';

/** How a call of an authorization webhook ended. */
type CallResult = 'success' | 'canceled' | 'timeout' | 'error';

/** The name that kube-apiserver gives to the webhook of `--authorization-webhook-config-file`. */
const name = 'default';

/** AuthorizationWebhookMetrics counts calls of the authorization webhook under kube-apiserver's names. */
export class AuthorizationWebhookMetrics {
  readonly #evaluations = new Counter(
    'apiserver_authorization_webhook_evaluations_total',
    'Number of calls of authorization webhooks.',
  );
  readonly #durations = new Histogram(
    'apiserver_authorization_webhook_duration_seconds',
    'Time that calls of authorization webhooks took, seconds.',
  );
  readonly #failedOpen = new Counter(
    'apiserver_authorization_webhook_evaluations_fail_open_total',
    'Number of requests that were left to the next authorization mode as the webhook failed.',
  );
  readonly #clock: Pick<Clock, 'now' | 'steady'>;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Measures a call. */
  async measured<T>(call: () => Promise<T>, stopping: AbortSignal): Promise<T> {
    const begin = steadyNow(this.#clock);
    let result: CallResult = 'success';
    try {
      return await call();
    } catch (reason) {
      result = stopping.aborted ? 'canceled' : failureOf(reason);
      throw reason;
    } finally {
      this.#evaluations.add({ name, result });
      this.#durations.observe({ name, result }, (steadyNow(this.#clock) - begin) / 1000);
    }
  }

  /** Counts a request that is left to the next mode, for the last failure of a call. */
  failedOpen(reason: unknown): void {
    this.#failedOpen.add({ name, result: failureOf(reason) });
  }

  families(): readonly MetricFamily[] {
    return [this.#evaluations, this.#durations, this.#failedOpen].map((one) => one.collect());
  }
}

/** Returns how a failed call ended. */
function failureOf(reason: unknown): CallResult {
  const {
    status,
    code,
    name: kind,
  } = reason as {
    readonly status?: number;
    readonly code?: string;
    readonly name?: string;
  };
  return status === 504 || code === 'deadline_exceeded' || kind === 'TimeoutError' ? 'timeout' : 'error';
}
