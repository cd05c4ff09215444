import { type OpenSpan, type Tracer, traced } from '../../base/tracing.ts';
import type { HttpRequest, Transport } from './transport.ts';

/** The part of a {@link Transport} that a client uses. */
export type Wire = Pick<Transport, 'send' | 'stream' | 'close'>;

/**
 * Opens a span for each request to the API server and propagates it. A watch has no parent span, and its span ends with the response's
 * head.
 *
 * Spans are named as the kubelet's are (`otelhttp`): `HTTP GET`.
 */
export function tracedTransport(wire: Wire, server: string, tracer: Tracer): Wire {
  const { origin, hostname } = new URL(server);
  const through =
    <T extends { readonly status: number }>(make: (request: HttpRequest) => Promise<T>, parent?: 'none') =>
    (request: HttpRequest): Promise<T> => {
      const { method, path, headers } = request;
      const attributes = {
        'http.request.method': method,
        'server.address': hostname,
        'url.full': `${origin}${path}`,
      };
      const options = { kind: 'client' as const, attributes, ...(parent && { parent }) };
      return traced(tracer, `HTTP ${method}`, options, async (span) => {
        const answer = await make({ ...request, headers: { ...headers, ...span.headers() } });
        tell(span, answer.status);
        return answer;
      });
    };
  return {
    send: through((request) => wire.send(request)),
    stream: through((request) => wire.stream(request), 'none'),
    close: () => wire.close(),
  };
}

/** For a client, every response of status 400 or higher is a failure. */
function tell(span: OpenSpan, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= 400) span.end(`status ${status}`);
}
