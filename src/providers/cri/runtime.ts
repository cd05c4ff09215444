import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { type Tracer, traced } from '../../base/tracing.ts';
import type { CallOptions } from '../../provider/container-runtime.ts';
import { checkAnswer } from './checks.ts';
import { deadlineOf, defaultRequestTimeoutMs } from './deadlines.ts';
import { throwPullError } from './errors.ts';
import {
  type MethodRow,
  type StreamMethods,
  streamMethods,
  type UnaryMethods,
  unaryMethods,
} from './gen/methods.ts';
import { CriTransport } from './transport.ts';

/** All calls of both CRI services, named as in {@link ContainerRuntime} and {@link ImageService}. */
export type CriCalls = {
  readonly [M in keyof UnaryMethods as Uncapitalize<M>]: (
    request: UnaryMethods[M]['request'],
    options?: CallOptions,
  ) => Promise<UnaryMethods[M]['response']>;
} & {
  readonly [M in keyof StreamMethods as Uncapitalize<M>]: (
    request: StreamMethods[M]['request'],
    options?: CallOptions,
  ) => AsyncIterable<StreamMethods[M]['response']>;
};

/** A container runtime on a socket: a `ContainerRuntime` with every power, and an `ImageService`. */
export type CriRuntime = CriCalls & {
  /** Path of the socket. */
  readonly socket: string;
  /** Closes the connection; calls in flight fail. */
  readonly close: () => Promise<void>;
};

/** Dependencies of the CRI client. */
export interface CriDeps {
  readonly clock: Clock;
  /** Traces every unary call. */
  readonly tracer?: Tracer;
}

/** Settings, named as in the kubelet's configuration. */
export interface CriOptions {
  /** Default deadline of a call, ms; default two minutes (`runtimeRequestTimeout`). */
  readonly runtimeRequestTimeoutMs?: number;
}

/**
 * Creates a client for the runtime on a Unix socket, with all of CRI v1. It connects on the first call, and reconnects after the runtime
 * was restarted. Follows the kubelet's CRI client (`cri-client` `remoteRuntimeService`, `remoteImageService`).
 *
 * @param endpoint a path, or `unix://` and a path
 * @throws {AgentError} `invalid_argument` when the endpoint is not a Unix socket
 * @example
 * const runtime = connectCri('/run/containerd/containerd.sock', { clock: systemClock });
 */
export function connectCri(endpoint: string, deps: CriDeps, options: CriOptions = {}): CriRuntime {
  const socket = socketPath(endpoint);
  const transport = new CriTransport(socket, deps.clock);
  const send = deps.tracer ? tracedSend(transport, deps.tracer) : plainSend(transport);
  const common = options.runtimeRequestTimeoutMs ?? defaultRequestTimeoutMs;
  const unary = Object.entries(unaryMethods).map(([method, row]) => {
    const name = method as keyof UnaryMethods;
    const call = async (request: object, options: CallOptions = {}): Promise<object> => {
      const timeoutMs = options.timeoutMs ?? deadlineOf(name, request, common);
      const { signal } = options;
      const answer = await send(row, request, {
        ...(signal && { signal }),
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
      checkAnswer(name, request, answer);
      return answer;
    };
    return [uncapitalize(method), call] as const;
  });
  const streams = Object.entries(streamMethods).map(([method, row]) => {
    const call = (request: object, options: CallOptions = {}): AsyncIterable<object> =>
      transport.stream(row, request, options);
    return [uncapitalize(method), call] as const;
  });
  const calls = Object.fromEntries<unknown>([...unary, ...streams]) as unknown as CriCalls;
  return {
    ...calls,
    pullImage: (request, options) => calls.pullImage(request, options).catch(throwPullError),
    socket,
    close: () => transport.close(),
  };
}

type Send = (row: MethodRow, request: object, options: CallOptions) => Promise<object>;

const plainSend =
  (transport: CriTransport): Send =>
  (row, request, options) =>
    transport.unary(row, request, options);

/** Wraps calls in spans and propagates the trace context to the runtime; spans are named as in the kubelet (`otelgrpc`). */
const tracedSend =
  (transport: CriTransport, tracer: Tracer): Send =>
  (row, request, options) => {
    const [service = '', method = ''] = row.path.slice(1).split('/');
    const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
    return traced(tracer, `${service}/${method}`, { kind: 'client', attributes }, (span) =>
      transport.unary(row, request, { ...options, headers: span.headers() }),
    );
  };

const uncapitalize = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Returns the path of `unix:///run/x.sock` or `/run/x.sock`. */
function socketPath(endpoint: string): string {
  const path = endpoint.replace(/^unix:\/\//, '');
  if (path.startsWith('/')) return path;
  throw new AgentError(
    'invalid_argument',
    `container runtime endpoint ${JSON.stringify(endpoint)} is not a unix socket, e.g. unix:///run/containerd/containerd.sock`,
  );
}
