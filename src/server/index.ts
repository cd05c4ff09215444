/** The kubelet HTTP API for those who mount it in a server of their own: `podtender/server`. Re-exports only. */
export { KubeletServer, type KubeletServerOptions, serveHealthz, serveReadOnly } from './kubelet-server.ts';
export {
  attachHandler,
  attachPodMetricsRoutes,
  attachPodRoutes,
  instrumentHandler,
  notFound,
  notImplemented,
  type PodHandler,
  podHandler,
  podMetricsHandler,
  type PodRoutesOptions,
} from './pod-routes.ts';
export { traceRequests } from './request-tracing.ts';
export type { ServerHost } from './host.ts';
