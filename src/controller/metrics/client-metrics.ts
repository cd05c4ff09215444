import { ApiError } from '../../api/client.ts';
import type { InterceptedCall, Interceptor } from '../../api/interceptor.ts';
import type { ObservedRequest, RequestObserver } from '../../api/rest/observed-transport.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram } from '../../metrics/metrics.ts';
import type { Collector } from './registry.ts';

type Method = ObservedRequest['method'];

const methods: Readonly<Record<InterceptedCall['verb'], Method>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deleteCollection: 'DELETE',
};

/** Bounds as client-go has them: seconds, and bytes. */
const latencies = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** The code of a request without a response, as client-go writes it. */
const codeOf = (status: number): string => (status === 0 ? '<error>' : String(status));

/** ClientMetrics counts and times the requests to one API server: `rest_client_*`. */
export class ClientMetrics implements Collector, RequestObserver {
  readonly #host: string;
  readonly #requests = new Counter(
    'rest_client_requests_total',
    'Number of HTTP requests, partitioned by status code, method, and host.',
  );
  readonly #retries = new Counter(
    'rest_client_request_retries_total',
    'Number of request retries, partitioned by status code, verb, and host.',
  );
  readonly #duration = new Histogram(
    'rest_client_request_duration_seconds',
    'Request latency in seconds. Broken down by verb, and host.',
    latencies,
  );
  readonly #throttle = new Histogram(
    'rest_client_rate_limiter_duration_seconds',
    'Client side rate limiter latency in seconds. Broken down by verb, and host.',
    latencies,
  );
  readonly #requestSize = new Histogram(
    'rest_client_request_size_bytes',
    'Request size in bytes. Broken down by verb and host.',
    sizes,
  );
  readonly #responseSize = new Histogram(
    'rest_client_response_size_bytes',
    'Response size in bytes. Broken down by verb and host.',
    sizes,
  );

  /** @param server the URL of the API server; `''` when it is unknown */
  constructor(server: string) {
    this.#host = URL.canParse(server) ? new URL(server).host : '';
  }

  ended({ method, status, ms, requestBytes, responseBytes }: ObservedRequest): void {
    const labels = { verb: method, host: this.#host };
    this.#count(method, status);
    this.#duration.observe(labels, ms / 1000);
    if (requestBytes !== undefined) this.#requestSize.observe(labels, requestBytes);
    if (responseBytes !== undefined) this.#responseSize.observe(labels, responseBytes);
  }

  throttled(method: Method, ms: number): void {
    this.#throttle.observe({ verb: method, host: this.#host }, ms / 1000);
  }

  retried(method: Method, status: number): void {
    this.#retries.add({ code: codeOf(status), verb: method, host: this.#host });
  }

  /** Counts the calls of a client that was made elsewhere, whose requests are not observed. */
  readonly interceptor: Interceptor = {
    call: async (call, next) => {
      try {
        const result = await next();
        this.#count(methods[call.verb], call.verb === 'create' && call.subresource === undefined ? 201 : 200);
        return result;
      } catch (reason) {
        this.#failed(call, reason);
        throw reason;
      }
    },
    watch: (call, next) => this.#watch(call, next()),
  };

  collect(): readonly MetricFamily[] {
    const all = [
      ...[this.#requests, this.#retries, this.#duration],
      ...[this.#throttle, this.#requestSize, this.#responseSize],
    ];
    return all.map((metric) => metric.collect());
  }

  async *#watch<Event>(call: InterceptedCall, events: AsyncIterable<Event>): AsyncIterable<Event> {
    let open = false;
    try {
      for await (const event of events) {
        if (!open) this.#count(methods[call.verb], 200);
        open = true;
        yield event;
      }
    } catch (reason) {
      if (!open) this.#failed(call, reason);
      throw reason;
    }
  }

  #failed({ verb }: InterceptedCall, reason: unknown): void {
    this.#count(methods[verb], reason instanceof ApiError ? reason.status : 0);
  }

  #count(method: Method, status: number): void {
    this.#requests.add({ code: codeOf(status), method, host: this.#host });
  }
}
