import { type Clock, steadyNow } from '../../base/clock.ts';
import type { HttpRequest } from './transport.ts';
import type { Wire } from './traced-transport.ts';

/** One request to the API server that has ended. */
export interface ObservedRequest {
  readonly method: HttpRequest['method'];
  /** HTTP status; 0: there was no response. */
  readonly status: number;
  /** Time until the complete response, or until the head of a watch's, ms. */
  readonly ms: number;
  /** Bytes of the request's body; absent without one. */
  readonly requestBytes?: number;
  /** Bytes of the response's body; absent for a watch, and without a response. */
  readonly responseBytes?: number;
}

/** RequestObserver receives what the requests of a client cost, for metrics. */
export interface RequestObserver {
  /** A request has ended. A call that is repeated makes several. */
  ended(request: ObservedRequest): void;
  /** A request has waited `ms` for the client's own rate limit; 0 when there was no need to. */
  throttled(method: HttpRequest['method'], ms: number): void;
  /** A call is repeated after a response with this status; 0: after a request without a response. */
  retried(method: HttpRequest['method'], status: number): void;
}

/** Returns a transport whose requests an observer receives. */
export function observedTransport(wire: Wire, clock: Clock, observer: RequestObserver): Wire {
  const observed = async <T extends { readonly status: number }>(
    { method, body }: HttpRequest,
    make: () => Promise<T>,
    sizeOf: (answer: T) => number | undefined,
  ): Promise<T> => {
    const since = steadyNow(clock);
    let answer: T | undefined;
    try {
      answer = await make();
      return answer;
    } finally {
      const responseBytes = answer && sizeOf(answer);
      observer.ended({
        method,
        status: answer?.status ?? 0,
        ms: steadyNow(clock) - since,
        ...(body !== undefined && { requestBytes: Buffer.byteLength(body) }),
        ...(responseBytes !== undefined && { responseBytes }),
      });
    }
  };
  return {
    send: (request) =>
      observed(
        request,
        () => wire.send(request),
        ({ headers, text }) => Number(headers['content-length'] ?? Buffer.byteLength(text)),
      ),
    stream: (request) =>
      observed(
        request,
        () => wire.stream(request),
        () => undefined,
      ),
    close: () => wire.close(),
  };
}
