/** `podtender/server`: the kubelet HTTP API, for mounting in a server of your own. Re-exports only. */
export {
  type Access,
  alwaysAllow,
  anonymous,
  type Authenticator,
  type Authorizer,
  certificateAuthenticator,
  type User,
} from './access.ts';
export type { ByteSink, LogRequest, RunResult, ServerHost } from './host.ts';
export {
  KubeletServer,
  type KubeletServerOptions,
  serveHealthz,
  serveReadOnly,
  webhookAccess,
} from './kubelet-server.ts';
export {
  attachHandler,
  attachPodMetricsRoutes,
  attachPodRoutes,
  handleContainerAttach,
  handleContainerExec,
  handleContainerLogs,
  handlePodMetricsResource,
  handlePodStatsSummary,
  handlePortForward,
  handleRunningPods,
  instrumentHandler,
  notFound,
  notImplemented,
  type PodHandler,
  podHandler,
  podMetricsHandler,
  type PodRoutesOptions,
} from './pod-routes.ts';
export type { PeerCertificate, Reply, ReplySink, ServerRequest, StreamedBody, Upgrade } from './reply.ts';
export { traceRequests } from './request-tracing.ts';
export {
  type Reviews,
  type SubjectAccessReviewSpec,
  tokenAuthenticator,
  type TokenReviewStatus,
  webhookAuthorizer,
  type WebhookTimes,
} from './webhook.ts';
