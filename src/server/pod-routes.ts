import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Authenticator, type Authorizer, certificateAuthenticator } from './access.ts';
import { RequestHandler } from './handler.ts';
import type { ServerHost } from './host.ts';
import { debuggingServices, defaultServices, type ServicesDeps } from './kubelet-services.ts';
import { Listener } from './listener.ts';
import { httpError, type Reply, type ServerRequest } from './reply.ts';
import type { Service } from './services.ts';
import { streamServices } from './stream-services.ts';
import { streamTimes } from '../streams/times.ts';

/** Options of the mountable handlers: the provider's host and the access rules. */
export interface PodRoutesOptions {
  readonly host: ServerHost;
  /** Decides whether a user may access the node. Required: no default allows access. */
  readonly authorizer: Authorizer;
  readonly authenticators?: readonly Authenticator[];
  readonly anonymousAuth?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Answers one request. */
export type PodHandler = (request: ServerRequest) => Promise<Reply>;

/** The reply to an unknown path. */
export const notFound: Reply = httpError(404, '404 request not found');
/** The reply to a request for an optional power that the provider does not have. */
export const notImplemented: Reply = httpError(501, '501 not implemented');

const handlerOf = (options: PodRoutesOptions, services: readonly Service[]): PodHandler => {
  const { host, logger = silentLogger, authorizer, authenticators = [], anonymousAuth = false } = options;
  const handler = new RequestHandler({
    nodeName: host.nodeName,
    logger,
    services,
    authenticators: [certificateAuthenticator, ...authenticators],
    authorizer,
    anonymousAuth,
  });
  return (request) => handler.handle(request);
};

const depsOf = ({ host, clock = systemClock }: PodRoutesOptions): ServicesDeps => ({
  host,
  clock,
  debugging: true,
  splitStreams: false,
  checkpoints: true,
  serverMetrics: () => [],
});

/**
 * Returns a handler of a provider's pods, logs, exec, attach, port-forward and run, for a server of your own. Follows virtual-kubelet's
 * `PodHandler`.
 *
 * @example
 * const handle = podHandler({ host, authorizer, authenticators });
 * const reply = await handle(request);
 */
export function podHandler(options: PodRoutesOptions): PodHandler {
  const deps = depsOf(options);
  const streams = { host: options.host, clock: deps.clock, times: streamTimes };
  const pods = defaultServices(deps).filter(({ patterns }) => patterns.includes('/pods'));
  return handlerOf(options, [...pods, ...debuggingServices(deps), ...streamServices(streams)]);
}

/**
 * Returns a handler of the statistics and metrics of a provider's pods.
 *
 * @example
 * attachHandler(server, podMetricsHandler({ host, authorizer, authenticators }));
 */
export function podMetricsHandler(options: PodRoutesOptions): PodHandler {
  const isMetrics = ({ patterns }: Service): boolean =>
    patterns.some((one) => /^\/(stats|metrics)/.test(one));
  return handlerOf(options, defaultServices(depsOf(options)).filter(isMetrics));
}

/** Returns a handler that serves only the paths below some prefixes; all other paths are not found. */
const only =
  (...roots: readonly string[]) =>
  (options: PodRoutesOptions): PodHandler => {
    const deps = depsOf(options);
    const streams = { host: options.host, clock: deps.clock, times: streamTimes };
    const all = [...defaultServices(deps), ...debuggingServices(deps), ...streamServices(streams)];
    const isServed = ({ patterns }: Service): boolean =>
      patterns.some((pattern) => roots.includes(pattern.replace(/\/$/, '')));
    return handlerOf(options, all.filter(isServed));
  };

/** Handles `/exec/{namespace}/{pod}[/{uid}]/{container}`. Follows virtual-kubelet's `HandleContainerExec`. */
export const handleContainerExec: (options: PodRoutesOptions) => PodHandler = only('/exec');
/** Handles `/attach/{namespace}/{pod}[/{uid}]/{container}`. Follows virtual-kubelet's `HandleContainerAttach`. */
export const handleContainerAttach: (options: PodRoutesOptions) => PodHandler = only('/attach');
/** Handles `/containerLogs/{namespace}/{pod}/{container}`. Follows virtual-kubelet's `HandleContainerLogs`. */
export const handleContainerLogs: (options: PodRoutesOptions) => PodHandler = only('/containerLogs');
/** Handles `/portForward/{namespace}/{pod}[/{uid}]`. Follows virtual-kubelet's `HandlePortForward`. */
export const handlePortForward: (options: PodRoutesOptions) => PodHandler = only('/portForward');
/** Handles `/pods` and `/runningpods/`. Follows virtual-kubelet's `HandleRunningPods`. */
export const handleRunningPods: (options: PodRoutesOptions) => PodHandler = only('/pods', '/runningpods');
/** Handles `/stats/summary`. Follows virtual-kubelet's `HandlePodStatsSummary`. */
export const handlePodStatsSummary: (options: PodRoutesOptions) => PodHandler = only('/stats');
/** Handles `/metrics/resource`. Follows virtual-kubelet's `HandlePodMetricsResource`. */
export const handlePodMetricsResource: (options: PodRoutesOptions) => PodHandler = only('/metrics/resource');

/**
 * Wraps a handler to count, trace or change its requests.
 *
 * @example
 * const handle = instrumentHandler(podHandler(options), async (request, next) => {
 *   logger.info('request', { target: request.target });
 *   return next();
 * });
 */
export const instrumentHandler =
  (
    handle: PodHandler,
    around: (request: ServerRequest, handle: () => Promise<Reply>) => Promise<Reply>,
  ): PodHandler =>
  (request) =>
    around(request, () => handle(request));

/**
 * Answers the requests of a Node server, including upgrades, by a handler.
 *
 * @example
 * const server = createServer();
 * attachHandler(server, handleContainerLogs({ host, authorizer, authenticators }));
 * server.listen(10250);
 */
export function attachHandler(
  server: HttpServer | HttpsServer,
  handle: PodHandler,
  logger: Logger = silentLogger,
): void {
  new Listener({ handle, logger, server });
}

/**
 * Mounts {@link podHandler} on a Node server. Follows virtual-kubelet's `AttachPodRoutes`.
 *
 * @example
 * const server = createServer(tlsOptions);
 * attachPodRoutes(server, { host, authorizer, authenticators });
 * server.listen(10250);
 */
export function attachPodRoutes(server: HttpServer | HttpsServer, options: PodRoutesOptions): void {
  attachHandler(server, podHandler(options), options.logger);
}

/**
 * Mounts {@link podMetricsHandler} on a Node server. Follows virtual-kubelet's `AttachPodMetricsRoutes`.
 *
 * @example
 * attachPodMetricsRoutes(server, { host, authorizer, authenticators });
 */
export function attachPodMetricsRoutes(server: HttpServer | HttpsServer, options: PodRoutesOptions): void {
  attachHandler(server, podMetricsHandler(options), options.logger);
}
