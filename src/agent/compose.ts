import { join } from 'node:path';
import { PodConfig, SourcesReady } from '../config/pod-config.ts';
import { layout } from '../containers/paths/layout.ts';
import { uidOf } from '../kube/names.ts';
import type { NodeController } from '../node/node-controller.ts';
import { CheckpointFile } from '../pods/checkpoint-file.ts';
import { CopyFiles } from '../pods/copy-files.ts';
import { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import { PodsController } from '../pods/pods-controller.ts';
import { buildNodeController } from './agent-node.ts';
import type { Middleware } from '../provider/middleware.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import { AgentServers } from './agent-servers.ts';
import { buildClusterView, type ClusterView } from './cluster-view.ts';
import { buildCommon, type CommonParts } from './common-parts.ts';
import { buildPodCgroups } from './container-manager.ts';
import { makeProvider } from './make-provider.ts';
import { StartMetrics } from './metrics/start-metrics.ts';
import { NodeProtection } from './node-protection.ts';
import { buildNodeView, type NodeView } from './node-view.ts';
import { buildPodUsers, releasingUsers } from './pod-users.ts';
import { buildRuntimeClasses } from './runtime-class.ts';
import { buildNodeHost, type NodeHost } from './volume-host.ts';

/** The subsystems of a composed agent, which do not run yet. */
export interface AgentParts {
  readonly common: CommonParts;
  readonly cluster: ClusterView;
  /** The merged pod sources. */
  readonly config: PodConfig;
  readonly controller: PodsController;
  readonly provider: AgentProvider;
  readonly volumes: NodeHost;
  readonly protection: NodeProtection;
  readonly servers: AgentServers;
  /** The node controller; absent in a standalone agent. */
  readonly node?: NodeController;
  /** Runs the background work beside the pods controller and the node controller until `signal` aborts. */
  readonly runUpkeep: (signal: AbortSignal) => Promise<void>;
}

/**
 * Composes an agent: each subsystem depends on those above it. The only cycle, between provider and pods controller, is closed by
 * {@link PodsController.registerProvider}; the controller has no engines before that call.
 */
export async function composeAgent(options: AgentOptions): Promise<AgentParts> {
  const common = buildCommon(options);
  const cluster = buildClusterView(options, common);
  const node = await buildNodeView(options, common, cluster);
  const config = new PodConfig(common);
  const sourcesReady = new SourcesReady(config);
  const middleware = await middlewareOf(options, common);
  const sourced = { config, sourcesReady, middleware };
  const controller = buildPodsController(options, common, cluster, node, sourced);

  const volumes = buildNodeHost(options, common, node);
  const cgroups = await buildPodCgroups(options, common, node.machine, controller, volumes.podVolumes);
  const users = await buildPodUsers(options, common);
  const classes = buildRuntimeClasses(options);
  const runtimeCalls = new RuntimeCallMetrics(common.clock);
  const starts = new StartMetrics(() => controller.startedEngines?.metrics.starts);

  const ofPods = { volumes, cgroups, users, classes };
  const ofProvider = { ...ofPods, cluster, node, controller, sourcesReady, runtimeCalls, starts };
  const { provider, upkeep, resolution } = await makeProvider(options, common, ofProvider);
  const measured = { cgroupStats: cgroups.stats, volumes: volumes.podVolumes };
  const protection = new NodeProtection(options, common, { controller, provider, upkeep, ...measured });
  controller.registerProvider(provider, {
    ...volumes,
    ...cgroups.pods,
    ...releasingUsers(users, volumes),
    ...classes.pods,
    ...protection.pods,
    resolution,
  });

  const sources = { controller, node, protection, volumes, runtimeCalls, starts, readings: cgroups.readings };
  const servers = new AgentServers(options, common, sources);
  const reported = { node, provider, controller, protection, servers };
  const nodeController = buildNodeController(options, common, reported);
  return {
    ...{ common, cluster, config, controller, provider, volumes, protection, servers },
    ...(nodeController && { node: nodeController }),
    runUpkeep: async (signal) => {
      await Promise.all([upkeep?.run(signal), protection.run(signal), cgroups.keepEnforced?.(signal)]);
    },
  };
}

function middlewareOf(
  { middleware = [], nodeName, rootDir, client }: AgentOptions,
  { clock, logger }: CommonParts,
): readonly Middleware[] | Promise<readonly Middleware[]> {
  if (typeof middleware !== 'function') return middleware;
  return middleware({ nodeName, rootDir, clock, logger, ...(client && { client }) });
}

/** Where the pods come from, and what changes them on their way. */
interface PodsSources {
  readonly config: PodConfig;
  readonly sourcesReady: SourcesReady;
  readonly middleware: readonly Middleware[];
}

/** Makes the pods controller, which gets its engines with the provider. */
function buildPodsController(
  options: AgentOptions,
  common: CommonParts,
  { pods }: ClusterView,
  { machine, nodeIPs, current }: NodeView,
  { config, sourcesReady, middleware }: PodsSources,
): PodsController {
  const {
    client,
    periods,
    statuses,
    mirrorPauseMs,
    tracer,
    appArmorFault,
    allowedUnsafeSysctls = [],
    registry,
  } = options;
  return new PodsController({
    ...common,
    eventRecorder: common.recorder,
    nodeName: options.nodeName,
    nodeIP: nodeIPs,
    nodeGetter: current,
    configUpdates: config.updates,
    sourcesReady,
    ...(registry && { registry }),
    middleware,
    copies: new CopyFiles((pod) => join(layout.podDir(options.rootDir, uidOf(pod)), 'middleware/copy.json')),
    allocations: new CheckpointFile(join(options.rootDir, 'allocated_pods_state')),
    host: {
      kernelVersion: machine.system.kernelVersion,
      allowedUnsafeSysctls,
      ...(appArmorFault && { appArmorFault }),
    },
    ...(client && { kubeClient: client }),
    ...(pods && { knownPods: pods.knownObjects }),
    ...(periods && { periods }),
    ...(statuses && { statuses }),
    ...(mirrorPauseMs !== undefined && { mirrorPauseMs }),
    ...(tracer && { tracer }),
  });
}
