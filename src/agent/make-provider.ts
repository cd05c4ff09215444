import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { SourcesReady } from '../config/pod-config.ts';
import type { ProbeResults } from '../containers/kuberuntime/actions/pod-actions.ts';
import type { RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import type { UserNamespaces } from '../containers/userns/userns-manager.ts';
import { hostMounter } from '../containers/volumes/mounter.ts';
import { SubPaths } from '../containers/volumes/sub-path.ts';
import { CheckpointFile } from '../pods/checkpoint-file.ts';
import type { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import { requireProvider } from '../provider/require-provider.ts';
import type { AgentOptions, ProviderWithUpkeep } from './agent-options.ts';
import type { Pod } from '../kube/types.ts';
import type { PodResolution } from '../provider/resolution.ts';
import { podResolution } from './pod-resolution.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CommonParts } from './common-parts.ts';
import type { NodePodCgroups } from './container-manager.ts';
import { nodeRefOf } from './evictions.ts';
import type { StartMetrics } from './metrics/start-metrics.ts';
import type { NodeView } from './node-view.ts';
import type { ProviderContext } from './provider-context.ts';
import type { RuntimeClassParts } from './runtime-class.ts';
import { runtimeHelper } from './runtime-helper.ts';
import type { NodeHost } from './volume-host.ts';

/** The subsystems that a provider uses. */
export interface ProviderParts {
  readonly cluster: ClusterView;
  readonly node: NodeView;
  readonly controller: PodsController;
  readonly sourcesReady: SourcesReady;
  readonly volumes: NodeHost;
  readonly cgroups: NodePodCgroups;
  readonly users: UserNamespaces | undefined;
  readonly classes: RuntimeClassParts;
  readonly runtimeCalls: RuntimeCallMetrics;
  readonly starts: StartMetrics;
}

/** Makes the provider with the options' factory, in a context of these subsystems. */
export async function makeProvider(
  options: AgentOptions,
  common: CommonParts,
  parts: ProviderParts,
): Promise<ProviderWithUpkeep & { readonly resolution: (pod: Pod) => PodResolution }> {
  const context = contextOf(options, common, parts);
  const result: unknown = await options.makeProvider(context);
  const whole = (
    typeof result === 'object' && result !== null && 'provider' in result ? result : { provider: result }
  ) as ProviderWithUpkeep;
  requireProvider(whole.provider);
  return { ...whole, resolution: podResolution(context.helper, parts.volumes) };
}

function contextOf(options: AgentOptions, common: CommonParts, parts: ProviderParts): ProviderContext {
  const { node, controller, sourcesReady, volumes, runtimeCalls, starts } = parts;
  const { rootDir, nodeName } = options;
  const results = (kind: 'liveness' | 'startup'): ProbeResults => ({
    get: (containerId) => controller.engines.probeManager.results[kind].get(containerId),
  });
  return {
    ...common,
    runtimeCalls,
    starts,
    helper: helperOf(options, common, parts),
    actuated: new CheckpointFile(join(rootDir, 'actuated_pods_state')),
    rootDir,
    machine: node.machine,
    serviceAccounts: volumes.serviceAccounts,
    probeResults: { liveness: results('liveness'), startup: results('startup') },
    controller,
    nodeRef: nodeRefOf(nodeName),
    allSourcesReady: () => sourcesReady.allReady(),
  };
}

function helperOf(
  { clusterDomain = '', clusterDns = [], rootDir, hostDns, mountsVolumes }: AgentOptions,
  common: CommonParts,
  { cluster: { services }, node, controller, volumes, cgroups, users, classes }: ProviderParts,
): RuntimeHelper {
  const { nodeIPs } = node;
  const { configMaps, secrets, podVolumes } = volumes;
  return runtimeHelper({
    recorder: common.recorder,
    rootDir,
    clusterDomain,
    ...(!hostDns && {
      nodeDns: () => ({ clusterDns, clusterDomain, nodeIPs, resolvConf: hostResolvConf() }),
    }),
    nodeGetter: () => node.current(),
    nodeAllocatable: () => node.allocatable(),
    hostIps: nodeIPs,
    services: () => (!services ? [] : services.synced ? services.store.list() : undefined),
    configMaps,
    secrets,
    podVolumes,
    cgroupParent: cgroups.cgroupParent,
    ...(cgroups.podCgroup && { podCgroup: cgroups.podCgroup }),
    ...classes.helper,
    ...(users && { userNamespace: (pod, handler) => users.of(pod, handler) }),
    isPodTerminationRequested: (uid) => controller.getPodStateProvider().isPodTerminationRequested(uid),
    ...(mountsVolumes && {
      subPaths: new SubPaths({
        ...common,
        rootDir,
        mounter: hostMounter,
        pid: process.pid,
        answers: (path) => podVolumes.answers(path),
      }),
    }),
  });
}

function hostResolvConf(): { readonly text: string } | { readonly error: string } {
  try {
    return { text: readFileSync('/etc/resolv.conf', 'utf8') };
  } catch (reason) {
    return { error: messageOf(reason) };
  }
}
