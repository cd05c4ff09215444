import { mkdirSync, readFileSync } from 'node:fs';
import { EventBroadcaster } from '../api/event-recorder.ts';
import type { Informer } from '../api/informer.ts';
import { nodeResource, podResource, serviceResource } from '../api/resources.ts';
import { SharedInformers } from '../api/shared-informers.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { PodConfig, SourcesReady } from '../config/pod-config.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ResourceList } from '../kube/resources.ts';
import type { Node, Pod, Service } from '../kube/types.ts';
import { measureMachine, type MeasuredMachine } from '../node/measure.ts';
import type { NodeController } from '../node/node-controller.ts';
import { initialNode } from '../node/register.ts';
import { foldSetters } from '../node/setters/setter.ts';
import type { KubeletServer } from '../server/kubelet-server.ts';
import { hostMounter } from '../volumes/mounter.ts';
import { makeNodeController, nodeIdentity } from './agent-node.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import { type NodeHost, nodeHost } from './host.ts';
import { startKubeletApi } from './kubelet-api.ts';
import { nodeSetters } from './node-setters.ts';
import { PodsController } from './pods-controller.ts';
import { runtimeHelper } from './runtime-helper.ts';
import type { Surroundings } from './surroundings.ts';

/** What all parts have in common. */
export interface CommonParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** The API server as this agent sees it; empty when standalone. */
interface ApiView {
  readonly informers?: SharedInformers;
  /** Bound to this node. */
  readonly pods?: Informer<Pod>;
  /** This one. */
  readonly nodes?: Informer<Node>;
  readonly services?: Informer<Service>;
}

/** A node agent, put together. */
export interface AgentParts extends CommonParts, ApiView {
  readonly config: PodConfig;
  readonly controller: PodsController;
  readonly provider: AgentProvider;
  /** Absent: standalone. */
  readonly node?: NodeController;
  readonly host: NodeHost;
  /** Starts the kubelet API, if it is to be served; the node tells its port from then on. */
  readonly serve: () => Promise<KubeletServer | undefined>;
}

const silentRecorder: EventRecorder = { event: () => undefined };

/** Puts a node agent together and makes its provider; nothing runs yet. */
export async function makeParts(options: AgentOptions): Promise<AgentParts> {
  const { client, nodeName, rootDir } = options;
  const common = commonParts(options);
  const view = apiView(options, common);
  mkdirSync(rootDir, { recursive: true, mode: 0o750 });
  const machine = await measureMachine(rootDir);
  const nodeIPs = options.nodeIPs ?? machine.addresses.slice(0, 1);
  let kubeletPort = 0;
  const setters = nodeSetters({
    machine,
    nodeName,
    nodeIPs,
    settings: options.node ?? {},
    kubeletPort: () => kubeletPort,
  });
  const identity = nodeIdentity(options, machine);
  const { node: first } = await foldSetters(setters, initialNode(identity), common.clock.now());
  const nodeGetter = (): Node => view.nodes?.store.get(nodeName) ?? first;
  const nodeAllocatable = (): ResourceList => nodeGetter().status?.allocatable ?? {};
  const kubeClient = client && { kubeClient: client };
  const host = nodeHost({ ...common, mounter: hostMounter, rootDir, nodeAllocatable, ...kubeClient });
  const config = new PodConfig(common);
  const controller = new PodsController({
    ...common,
    ...kubeClient,
    nodeName,
    nodeIP: nodeIPs,
    configUpdates: config.updates,
    sourcesReady: new SourcesReady(config),
    nodeGetter,
    eventRecorder: common.recorder,
    host: { ...host, allowedUnsafeSysctls: options.allowedUnsafeSysctls ?? [] },
    ...(options.periods && { periods: options.periods }),
  });
  const given = { options, common, view, machine, nodeIPs, nodeGetter, nodeAllocatable, host, controller };
  const provider = await options.makeProvider(surroundings(given));
  controller.registerProvider(provider);
  const node =
    client && makeNodeController({ ...common, options, client, provider, identity, setters, controller });
  const serve = async (): Promise<KubeletServer | undefined> => {
    if (!options.kubeletApi) return undefined;
    const server = await startKubeletApi(options.kubeletApi, {
      ...common,
      controller,
      client,
      nodeName,
      nodeIPs,
    });
    kubeletPort = server.port;
    return server;
  };
  return { ...common, ...view, config, controller, provider, host, serve, ...(node && { node }) };
}

function commonParts({
  clock = systemClock,
  random = systemRandom,
  logger = silentLogger,
  client,
  nodeName,
}: AgentOptions): CommonParts {
  const base = { clock, random, logger };
  return {
    ...base,
    recorder: client ? new EventBroadcaster({ client, ...base }, { host: nodeName }) : silentRecorder,
  };
}

function apiView({ client, nodeName }: AgentOptions, { clock, random, logger }: CommonParts): ApiView {
  if (!client) return {};
  const informers = new SharedInformers({ client, clock, random, logger });
  return {
    informers,
    pods: informers.informer<Pod>(podResource, { fieldSelector: `spec.nodeName=${nodeName}` }),
    nodes: informers.informer<Node>(nodeResource, { fieldSelector: `metadata.name=${nodeName}` }),
    services: informers.informer<Service>(serviceResource),
  };
}

interface Given {
  readonly options: AgentOptions;
  readonly common: CommonParts;
  readonly view: ApiView;
  readonly machine: MeasuredMachine;
  readonly nodeIPs: readonly string[];
  readonly nodeGetter: () => Node;
  readonly nodeAllocatable: () => ResourceList;
  readonly host: NodeHost;
  readonly controller: PodsController;
}

function surroundings(given: Given): Surroundings {
  const { options, common, view, machine, nodeIPs, nodeGetter, nodeAllocatable, host, controller } = given;
  const { clusterDomain = 'cluster.local', clusterDns = [], rootDir } = options;
  const { services } = view;
  const results = (kind: 'liveness' | 'startup'): Surroundings['probeResults']['liveness'] => ({
    get: (containerId) => controller.engines.probeManager.results[kind].get(containerId),
  });
  const helper = runtimeHelper({
    recorder: common.recorder,
    rootDir,
    clusterDomain,
    ...(!options.hostDns && {
      nodeDns: () => ({ clusterDns, clusterDomain, nodeIPs, resolvConf: hostResolvConf() }),
    }),
    nodeGetter,
    nodeAllocatable,
    hostIps: nodeIPs,
    services: () => (!services ? [] : services.synced ? services.store.list() : undefined),
    configMaps: host.configMaps,
    secrets: host.secrets,
    podVolumes: host.podVolumes,
    cgroupParent: () => '',
    isPodTerminationRequested: (uid) => controller.getPodStateProvider().isPodTerminationRequested(uid),
    supportsRecursiveReadOnly: false,
  });
  return {
    ...common,
    helper,
    rootDir,
    machine,
    probeResults: { liveness: results('liveness'), startup: results('startup') },
  };
}

function hostResolvConf(): { readonly text: string } | { readonly error: string } {
  try {
    return { text: readFileSync('/etc/resolv.conf', 'utf8') };
  } catch (reason) {
    return { error: messageOf(reason) };
  }
}
