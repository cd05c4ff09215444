import { ApiError } from '../../api/client.ts';
import type { InterceptedCall, Interceptor } from '../../api/interceptor.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter } from '../../metrics/metrics.ts';
import type { Collector } from './registry.ts';

const methods: Readonly<Record<InterceptedCall['verb'], string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deleteCollection: 'DELETE',
};

/** ClientMetrics counts the requests to one API server: `rest_client_requests_total`. */
export class ClientMetrics implements Collector {
  readonly #host: string;
  readonly #requests = new Counter(
    'rest_client_requests_total',
    'Number of HTTP requests, partitioned by status code, method, and host.',
  );

  /** @param server the URL of the API server; `''` when it is unknown */
  constructor(server: string) {
    this.#host = URL.canParse(server) ? new URL(server).host : '';
  }

  /** Counts the calls that go through it. */
  readonly interceptor: Interceptor = {
    call: async (call, next) => {
      try {
        const result = await next();
        this.#count(call, call.verb === 'create' && call.subresource === undefined ? '201' : '200');
        return result;
      } catch (reason) {
        this.#failed(call, reason);
        throw reason;
      }
    },
    watch: (call, next) => this.#watch(call, next()),
  };

  collect(): MetricFamily {
    return this.#requests.collect();
  }

  async *#watch<Event>(call: InterceptedCall, events: AsyncIterable<Event>): AsyncIterable<Event> {
    let open = false;
    try {
      for await (const event of events) {
        if (!open) this.#count(call, '200');
        open = true;
        yield event;
      }
    } catch (reason) {
      if (!open) this.#failed(call, reason);
      throw reason;
    }
  }

  #failed(call: InterceptedCall, reason: unknown): void {
    const status = reason instanceof ApiError ? reason.status : 0;
    // client-go writes a call without a response like this
    this.#count(call, status === 0 ? '<error>' : String(status));
  }

  #count({ verb }: InterceptedCall, code: string): void {
    this.#requests.add({ code, method: methods[verb], host: this.#host });
  }
}
