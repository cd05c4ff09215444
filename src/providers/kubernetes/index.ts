/** A second cluster: pods as pods of another Kubernetes. `podtender/providers/kubernetes`. Re-exports only. */
export { deletedReason } from './backing-status.ts';
export { backingNode } from './node.ts';
export { KubernetesProvider, type KubernetesProviderOptions } from './provider.ts';
export {
  kubernetesSettings,
  type BackingDns,
  type BackingElection,
  type KubernetesSettings,
} from './settings.ts';
