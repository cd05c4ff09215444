/** virtual-kubelet's contract for those who write providers: `podtender/vkubelet`. Re-exports only. */
export * from './contract.ts';
export * from './errors.ts';
export * from './reasons.ts';
export { type MockConfig, mockConfigOf, type MockOptions, MockProvider } from './mock.ts';
export * from './http.ts';
// the first releases' names
export {
  attachPodMetricsRoutes as attachMetricsRoutes,
  podStatsSummaryHandler as metricsSummaryHandler,
} from './http.ts';
export { newNode, PingedNodeProvider, type VirtualNode } from './node.ts';
export {
  type NewProviderFunc,
  type NodeConfig,
  type NodeOpt,
  type TlsOptions,
  withClient,
  withNodeConfig,
  withTLSConfig,
} from './node-config.ts';
export { NodeController } from './node-controller.ts';
export {
  defaultLeaseDuration,
  defaultPingInterval,
  defaultRenewIntervalFraction,
  defaultStatusUpdateInterval,
  type ErrorHandler,
  firstReleasePingInterval,
  type NodeControllerOpt,
  type NodeControllerSettings,
  withNodeDeps,
  withNodeDisableLease,
  withNodeEnableLeaseV1,
  withNodeEnableLeaseV1WithRenewInterval,
  withNodeLease,
  withNodePingInterval,
  withNodePingTimeout,
  withNodeStatusUpdateErrorHandler,
  withNodeStatusUpdateInterval,
} from './node-controller-options.ts';
export { patchNodeStatus, updateNodeLease, updateNodeStatus } from './node-status.ts';
export { PodController, type PodControllerConfig } from './pod-controller.ts';
export { HandlerProvider, type HandlerProviderDeps } from './handler-provider.ts';
export { ResourceManager } from './resource-manager.ts';
export { type FirstReleaseProvider, Server, type ServerConfig } from './server.ts';
export { type PodCapabilities } from '../provider/capabilities.ts';
export type { ConfigMap, Node, Pod, PodStatus, Secret, Service } from '../kube/types.ts';
