import type { Node } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

/** What a runtime handler can do. */
export interface HandlerFeatures {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** Versions and platform (kubelet `nodestatus.VersionInfo`, `GoRuntime`). */
export interface VersionSettings {
  readonly kernelVersion: string;
  readonly osImage: string;
  /** e.g. `containerd://2.1.9` */
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  readonly operatingSystem: string;
  /** Go's name: `amd64`, `arm64`. */
  readonly architecture: string;
}

/** What software runs here. */
export function versionInfo(node: Node, versions: VersionSettings): SetterResult {
  const identity = node.status?.nodeInfo ?? { machineID: '', systemUUID: '', bootID: '' };
  return { node: withStatus(node, { nodeInfo: { kubeProxyVersion: '', ...identity, ...versions } }) };
}

/** Where the agent's own HTTPS port is (kubelet `nodestatus.DaemonEndpoints`). */
export const daemonEndpoints = (node: Node, port: number): SetterResult => ({
  node: withStatus(node, { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
});

/** Which runtime handlers there are (kubelet `nodestatus.RuntimeHandlers`). */
export const runtimeHandlers = (node: Node, handlers: readonly HandlerFeatures[]): SetterResult => ({
  node: withStatus(node, {
    runtimeHandlers: handlers.map(({ name, ...features }) => ({ name, features })),
  }),
});

/** What a runtime can do beside its handlers. */
export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
}

/** What the runtime can do beside its handlers (kubelet `nodestatus.NodeFeatures`). */
export function nodeFeatures(node: Node, features: RuntimeFeatures | undefined): SetterResult {
  if (!features) return { node };
  const { supplementalGroupsPolicy } = features;
  return { node: withStatus(node, { features: { supplementalGroupsPolicy } }) };
}

/** Features of the agent that the scheduler and the API server may count on, sorted. */
export const declaredFeatures = (node: Node, names: readonly string[]): SetterResult => ({
  node: withStatus(node, { declaredFeatures: [...names].sort() }),
});
