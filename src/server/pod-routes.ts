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

/** Whose pods are shown, and to whom. */
export interface PodRoutesOptions {
  readonly host: ServerHost;
  /** Who tells whether somebody may; there is no default that lets people in. */
  readonly authorizer: Authorizer;
  readonly authenticators?: readonly Authenticator[];
  readonly anonymousAuth?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Answers one request. */
export type PodHandler = (request: ServerRequest) => Promise<Reply>;

/** The answer to a path that is none. */
export const notFound: Reply = httpError(404, '404 request not found');
/** The answer to what a provider cannot. */
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

/** Pods, logs, exec, attach, port-forward and run of a provider, for a server of one's own. After virtual-kubelet's `PodHandler`. */
export function podHandler(options: PodRoutesOptions): PodHandler {
  const deps = depsOf(options);
  const streams = { host: options.host, clock: deps.clock, times: streamTimes };
  const pods = defaultServices(deps).filter(({ patterns }) => patterns.includes('/pods'));
  return handlerOf(options, [...pods, ...debuggingServices(deps), ...streamServices(streams)]);
}

/** Statistics and metrics of a provider's pods. */
export function podMetricsHandler(options: PodRoutesOptions): PodHandler {
  const isMetrics = ({ patterns }: Service): boolean =>
    patterns.some((one) => /^\/(stats|metrics)/.test(one));
  return handlerOf(options, defaultServices(depsOf(options)).filter(isMetrics));
}

/** A handler of what hangs under some paths alone; everything else is none of its paths. */
const only =
  (...roots: readonly string[]) =>
  (options: PodRoutesOptions): PodHandler => {
    const deps = depsOf(options);
    const streams = { host: options.host, clock: deps.clock, times: streamTimes };
    const all = [...defaultServices(deps), ...debuggingServices(deps), ...streamServices(streams)];
    const isWanted = ({ patterns }: Service): boolean =>
      patterns.some((pattern) => roots.includes(pattern.replace(/\/$/, '')));
    return handlerOf(options, all.filter(isWanted));
  };

/** `/exec/{namespace}/{pod}[/{uid}]/{container}`. After virtual-kubelet's `HandleContainerExec`. */
export const handleContainerExec: (options: PodRoutesOptions) => PodHandler = only('/exec');
/** `/attach/{namespace}/{pod}[/{uid}]/{container}`. After virtual-kubelet's `HandleContainerAttach`. */
export const handleContainerAttach: (options: PodRoutesOptions) => PodHandler = only('/attach');
/** `/containerLogs/{namespace}/{pod}/{container}`. After virtual-kubelet's `HandleContainerLogs`. */
export const handleContainerLogs: (options: PodRoutesOptions) => PodHandler = only('/containerLogs');
/** `/portForward/{namespace}/{pod}[/{uid}]`. After virtual-kubelet's `HandlePortForward`. */
export const handlePortForward: (options: PodRoutesOptions) => PodHandler = only('/portForward');
/** `/pods` and `/runningpods/`. After virtual-kubelet's `HandleRunningPods`. */
export const handleRunningPods: (options: PodRoutesOptions) => PodHandler = only('/pods', '/runningpods');
/** `/stats/summary`. After virtual-kubelet's `HandlePodStatsSummary`. */
export const handlePodStatsSummary: (options: PodRoutesOptions) => PodHandler = only('/stats');
/** `/metrics/resource`. After virtual-kubelet's `HandlePodMetricsResource`. */
export const handlePodMetricsResource: (options: PodRoutesOptions) => PodHandler = only('/metrics/resource');

/** Counts, traces or changes what a handler does, around it. */
export const instrumentHandler =
  (
    handle: PodHandler,
    around: (request: ServerRequest, handle: () => Promise<Reply>) => Promise<Reply>,
  ): PodHandler =>
  (request) =>
    around(request, () => handle(request));

/** Answers requests of a Node server by a handler, upgrades included. */
export function attachHandler(
  server: HttpServer | HttpsServer,
  handle: PodHandler,
  logger: Logger = silentLogger,
): void {
  new Listener({ handle, logger, server });
}

/** Mounts {@link podHandler} on a Node server. After virtual-kubelet's `AttachPodRoutes`. */
export function attachPodRoutes(server: HttpServer | HttpsServer, options: PodRoutesOptions): void {
  attachHandler(server, podHandler(options), options.logger);
}

/** Mounts {@link podMetricsHandler} on a Node server. After virtual-kubelet's `AttachPodMetricsRoutes`. */
export function attachPodMetricsRoutes(server: HttpServer | HttpsServer, options: PodRoutesOptions): void {
  attachHandler(server, podMetricsHandler(options), options.logger);
}
