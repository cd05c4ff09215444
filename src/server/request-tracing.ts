import type { OpenSpan, Tracer } from '../base/tracing.ts';
import { splitTarget } from './mux.ts';
import type { Reply, ServerRequest } from './reply.ts';
import { pathLabel } from './server-metrics.ts';

/**
 * Opens a span around each request, for `instrumentHandler`. It continues the trace in the request's headers and ends with the response,
 * streams included. Spans are named by route as the kubelet's are (`otelrestful`).
 *
 * @example
 * const handle = instrumentHandler(podHandler(options), traceRequests(await openTelemetryTracer()));
 */
export function traceRequests(
  tracer: Tracer,
): (request: ServerRequest, handle: () => Promise<Reply>) => Promise<Reply> {
  return async (request, handle) => {
    const { method, target, headers, signal } = request;
    const name = routeOf(splitTarget(target).path);
    const attributes = { 'http.request.method': method, 'http.route': name };
    const span = tracer.start(name, { kind: 'server', parent: headers, attributes });
    signal.addEventListener(
      'abort',
      () => {
        span.end();
      },
      { once: true },
    );
    try {
      return lasting(await span.within(handle), span);
    } catch (reason) {
      span.end(reason);
      throw reason;
    }
  };
}

/** Returns the reply with the span's end attached to its end. Only server faults count as failures. */
function lasting(reply: Reply, span: OpenSpan): Reply {
  const { status, body, upgrade } = reply;
  span.set({ 'http.response.status_code': status });
  const within = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await span.within(work);
      span.end();
    } catch (reason) {
      span.end(reason);
      throw reason;
    }
  };
  if (upgrade) return { ...reply, upgrade: (socket, head) => within(() => upgrade(socket, head)) };
  if (typeof body === 'object' && 'stream' in body)
    return { ...reply, body: { ...body, stream: (sink) => within(() => body.stream(sink)) } };
  span.end(status >= 500 ? `status ${status}` : undefined);
  return reply;
}

const pod = '/{podNamespace}/{podID}';
const ofContainer = new Set(['attach', 'checkpoint', 'containerLogs', 'exec', 'run']);

/** Returns the route of a path, without names from the request. */
function routeOf(path: string): string {
  const label = pathLabel(path);
  const below = path.split('/').length - 2;
  if (ofContainer.has(label)) return `/${label}${pod}${below > 3 ? '/{uid}' : ''}/{containerName}`;
  return label === 'portForward' ? `/${label}${pod}${below > 2 ? '/{uid}' : ''}` : `/${label}`;
}
