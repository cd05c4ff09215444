import type { Node } from '../../kube/types.ts';
import { type SetterResult, withStatus } from './setter.ts';

/** Features of a runtime handler. */
export interface HandlerFeatures {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** Versions and platform (kubelet `nodestatus.VersionInfo`, `GoRuntime`). */
export interface VersionSettings {
  readonly kernelVersion: string;
  readonly osImage: string;
  /** For example `containerd://2.1.9`. */
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  readonly operatingSystem: string;
  /** Architecture by Go's name: `amd64`, `arm64`. */
  readonly architecture: string;
}

/** Sets the versions in `nodeInfo`. */
export function versionInfo(node: Node, versions: VersionSettings): SetterResult {
  const identity = node.status?.nodeInfo ?? { machineID: '', systemUUID: '', bootID: '' };
  return { node: withStatus(node, { nodeInfo: { kubeProxyVersion: '', ...identity, ...versions } }) };
}

/** Sets the agent's HTTPS port (kubelet `nodestatus.DaemonEndpoints`). */
export const daemonEndpoints = (node: Node, port: number): SetterResult => ({
  node: withStatus(node, { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
});

/** Sets the runtime handlers (kubelet `nodestatus.RuntimeHandlers`). */
export const runtimeHandlers = (node: Node, handlers: readonly HandlerFeatures[]): SetterResult => ({
  node: withStatus(node, {
    runtimeHandlers: handlers.map(({ name, ...features }) => ({ name, features })),
  }),
});

/** Features of a runtime besides those of its handlers. */
export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
}

/** Sets the runtime's features (kubelet `nodestatus.NodeFeatures`). */
export function nodeFeatures(node: Node, features: RuntimeFeatures | undefined): SetterResult {
  if (!features) return { node };
  const { supplementalGroupsPolicy } = features;
  return { node: withStatus(node, { features: { supplementalGroupsPolicy } }) };
}

/** Sets features of the agent for the scheduler and the API server, sorted. */
export const declaredFeatures = (node: Node, names: readonly string[]): SetterResult => ({
  node: withStatus(node, { declaredFeatures: [...names].sort() }),
});
