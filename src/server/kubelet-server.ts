import { type Clock, systemClock } from '../base/clock.ts';
import { type KeyPair } from '../pki/certificates.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import type { Tracer } from '../base/tracing.ts';
import { alwaysAllow, type Authenticator, type Authorizer, certificateAuthenticator } from './access.ts';
import { RequestHandler } from './handler.ts';
import { ping } from '../kube/health-checks.ts';
import type { Service } from './services.ts';
import type { ServerHost } from './host.ts';
import {
  debuggingServices,
  defaultServices,
  healthServices,
  disabledServices,
  openServices,
  type ServicesDeps,
} from './kubelet-services.ts';
import { Listener, type ListenerLimits, type TlsSettings } from './listener.ts';
import type { MetricFamily } from '../metrics/family.ts';
import { ServerMetrics } from './server-metrics.ts';
import type { Reply, ServerRequest } from './reply.ts';
import { traceRequests } from './request-tracing.ts';
import { streamServices } from './stream-services.ts';
import { type StreamTimes, streamTimes } from '../streams/times.ts';
import { tokenAuthenticator, type Reviews, webhookAuthorizer, type WebhookTimes } from './webhook.ts';
import { selfSigned } from '../pki/self-signed.ts';

/** Options of a {@link KubeletServer}. */
export interface KubeletServerOptions {
  readonly host: ServerHost;
  /** Listen address. Default: all interfaces. */
  readonly address?: string;
  /** Listen port. Default: 10250; 0 takes any free port. */
  readonly port?: number;
  /** Serving certificate and key, PEM; default: self-signed. `later`: no handshake succeeds before {@link KubeletServer.renew}. */
  readonly tls?: KeyPair | 'later';
  readonly tlsSettings?: Pick<TlsSettings, 'ciphers' | 'ecdhCurve' | 'minVersion'>;
  /** Client CA bundle, PEM; absent: client certificates are not accepted. */
  readonly clientCa?: string;
  /** Decides whether an authenticated user may access the node. Required: no default allows access. */
  readonly authorizer: Authorizer;
  /** Further authenticators such as bearer tokens, tried after client certificates. */
  readonly authenticators?: readonly Authenticator[];
  /** Whether requests without credentials are served as `system:anonymous`; default: false. */
  readonly anonymousAuth?: boolean;
  /** Whether logs, exec, attach and port-forward are served (`enableDebuggingHandlers`); default: true. */
  readonly debugging?: boolean;
  /**
   * Debugging handlers that are turned off (`enableSystemLogHandler`, `enableProfilingHandler`, `enableDebugFlagsHandler`); default:
   * none.
   */
  readonly disabled?: {
    readonly logs?: boolean;
    readonly profiling?: boolean;
    readonly debugFlags?: boolean;
  };
  /** Whether logs of one stream can be requested (`?stream=Stderr`; feature gate PodLogsQuerySplitStreams); default: false. */
  readonly splitStreams?: boolean;
  /** Whether `/checkpoint` is served (feature gate ContainerCheckpoint); default: true. */
  readonly checkpoints?: boolean;
  /** Whether metrics are served as OpenMetrics to clients that accept it, which the kubelet does not do. Default: true. */
  readonly openMetrics?: boolean;
  readonly limits?: Partial<ListenerLimits>;
  readonly streams?: Partial<StreamTimes>;
  /** Answers every request in place of the kubelet's paths, authentication and authorization. */
  readonly handler?: (request: ServerRequest) => Promise<Reply>;
  /** Called when the server is closed. */
  readonly onClose?: () => void;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Traces every request. */
  readonly tracer?: Tracer;
}

export const kubeletPort = 10_250;

/**
 * Returns the options of a {@link KubeletServer} that delegate authentication and authorization to the API server (TokenReview,
 * SubjectAccessReview).
 *
 * @example
 * new KubeletServer({ host, clientCa, ...webhookAccess(apiReviews(client)) });
 */
export function webhookAccess(
  reviews: Reviews,
  clock: Clock = systemClock,
  times?: Partial<WebhookTimes>,
): Pick<KubeletServerOptions, 'authorizer' | 'authenticators'> {
  const deps = { clock, reviews, ...(times && { times }) };
  return { authorizer: webhookAuthorizer(deps), authenticators: [tokenAuthenticator(deps)] };
}

/**
 * KubeletServer serves the kubelet's HTTP API: what the API server, `kubectl`, metrics-server and operators expect on a node's port
 * 10250. `handle` answers without a socket; `listen` serves over TLS.
 *
 * @example
 * const server = new KubeletServer({ host, authorizer: alwaysAllow, clientCa });
 * await server.listen(); // on server.port
 * await server.close();
 */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #handler: RequestHandler;
  readonly #listener: Listener;
  #tls: TlsSettings;
  readonly #metrics: ServerMetrics;
  readonly #traced: ReturnType<typeof traceRequests> | undefined;
  #port = 0;

  constructor(options: KubeletServerOptions) {
    this.#options = options;
    const {
      host,
      clock = systemClock,
      logger = silentLogger,
      debugging = true,
      splitStreams = false,
      checkpoints = true,
      openMetrics = true,
    } = options;
    this.#metrics = new ServerMetrics(clock, 'readwrite');
    this.#traced = options.tracer && traceRequests(options.tracer);
    const serverMetrics = (): readonly MetricFamily[] => this.#metrics.collect();
    const deps: ServicesDeps = {
      host,
      clock,
      debugging,
      splitStreams,
      checkpoints,
      openMetrics,
      serverMetrics,
      disabled: options.disabled,
    };
    const streams = { host, clock, times: { ...streamTimes, ...options.streams } };
    this.#handler = new RequestHandler({
      nodeName: host.nodeName,
      logger,
      services: [
        ...defaultServices(deps),
        ...(debugging ? [...debuggingServices(deps), ...streamServices(streams)] : disabledServices),
      ],
      authenticators: [certificateAuthenticator, ...(options.authenticators ?? [])],
      authorizer: options.authorizer,
      anonymousAuth: options.anonymousAuth ?? false,
    });
    this.#tls = tlsOf(options, clock.now());
    this.#listener = new Listener({
      handle: (request) => this.handle(request),
      logger,
      tls: this.#tls,
      ...(options.limits && { limits: options.limits }),
    });
  }

  /** The port it listens on; 0 before {@link listen}. */
  get port(): number {
    return this.#port;
  }

  handle(request: ServerRequest): Promise<Reply> {
    const answer = this.#options.handler ?? ((one) => this.#handler.handle(one));
    const handle = (): Promise<Reply> => this.#metrics.around(request, () => answer(request));
    return this.#traced ? this.#traced(request, handle) : handle();
  }

  async listen(): Promise<void> {
    const { port = kubeletPort, address = '::' } = this.#options;
    this.#port = await this.#listener.listen(port, address);
  }

  /** Replaces the serving certificate for new connections; existing connections continue. */
  renew(tls: KeyPair): void {
    this.#secure({ ...this.#tls, ...tls });
  }

  /** Replaces the client CA bundle for new connections; requires a server that was created with one. */
  trust(clientCa: string): void {
    this.#secure({ ...this.#tls, clientCa });
  }

  #secure(tls: TlsSettings): void {
    this.#listener.renew(tls);
    this.#tls = tls;
  }

  /** Closes the listener and all connections. */
  close(): Promise<void> {
    this.#options.onClose?.();
    return this.#listener.close();
  }
}

/** Options of a server without authentication, for an address that only trusted clients can reach. */
export interface OpenServerOptions {
  readonly host: ServerHost;
  /** Listen address. Default: loopback. */
  readonly address?: string;
  readonly port: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: Partial<ListenerLimits>;
}

/** A server without TLS. */
export interface OpenServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves the healthz port: `/healthz` and `/healthz/ping`, nothing else (K1).
 *
 * @example
 * const healthz = await serveHealthz({ host, port: 10248 });
 */
export const serveHealthz = (options: OpenServerOptions): Promise<OpenServer> =>
  serveOpen(options, healthServices([ping]));

/**
 * Serves the read-only port (`readOnlyPort`) without authentication: pods, health, statistics and metrics. Paths that look into pods
 * answer that they are disabled.
 *
 * Follows kubelet `ListenAndServeKubeletReadOnlyServer`.
 *
 * @example
 * const readOnly = await serveReadOnly({ host, port: 10255 });
 */
export function serveReadOnly(options: OpenServerOptions): Promise<OpenServer> {
  const { host, clock = systemClock } = options;
  const metrics = new ServerMetrics(clock, 'readonly');
  const open = openServices({ host, serverMetrics: () => metrics.collect() });
  return serveOpen(options, [...open, ...disabledServices], metrics);
}

async function serveOpen(
  { host, address = '127.0.0.1', port, logger = silentLogger, limits }: OpenServerOptions,
  services: readonly Service[],
  metrics?: ServerMetrics,
): Promise<OpenServer> {
  const { nodeName } = host;
  const handler = new RequestHandler({
    nodeName,
    logger,
    services,
    authenticators: 'none',
    authorizer: alwaysAllow,
    anonymousAuth: true,
  });
  const handle = (request: ServerRequest): Promise<Reply> => handler.handle(request);
  const listener = new Listener({
    handle: (request) => metrics?.around(request, () => handle(request)) ?? handle(request),
    logger,
    ...(limits && { limits }),
  });
  return { port: await listener.listen(port, address), close: () => listener.close() };
}

function tlsOf({ tls, tlsSettings, clientCa, host }: KubeletServerOptions, now: number): TlsSettings {
  const pair = tls === 'later' ? {} : (tls ?? selfSigned(host.nodeName, now));
  return { ...tlsSettings, ...pair, ...(clientCa !== undefined && { clientCa }) };
}
