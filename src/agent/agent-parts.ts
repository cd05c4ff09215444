import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventBroadcaster } from '../api/events/event-recorder.ts';
import type { Informer } from '../api/cache/informer.ts';
import { nodeResource, podResource, serviceResource } from '../api/resources.ts';
import { SharedInformers } from '../api/cache/shared-informers.ts';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { PodConfig, SourcesReady } from '../config/pod-config.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { Node, Pod, Service } from '../kube/types.ts';
import type { PodCgroupAccess, RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import { measureMachine, type MeasuredMachine } from '../containers/stats/machine-info.ts';
import type { NodeController } from '../node/node-controller.ts';
import { initialNode } from '../node/register.ts';
import { foldSetters } from '../node/setters/setter.ts';
import { hostMounter, makeShared } from '../containers/volumes/mounter.ts';
import { SubPaths } from '../containers/volumes/sub-path.ts';
import { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import { makeNodeController, nodeIdentity } from './agent-node.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import { CheckpointFile } from '../pods/checkpoint-file.ts';
import { Endings } from './node-protection.ts';
import { nodeRefOf } from './evictions.ts';
import { declaredFeatures } from './declared-features.ts';
import { type NodeHost, nodeHost } from './volume-host.ts';
import type { PodHost } from '../pods/pod-host.ts';
import { sweepMetrics } from './metrics/kubelet-metrics.ts';
import { type NodeAddresses, type Served, servePorts } from './kubelet-api.ts';
import { defaultMaxPods, nodeSetters } from './node-setters.ts';
import { podCgroups } from './container-manager.ts';
import { podResourcesApi, PodResourcesMetrics } from './pod-resources-api.ts';
import { PodsController } from '../pods/pods-controller.ts';
import { runtimeHelper } from './runtime-helper.ts';
import { type RuntimeClassParts, runtimeClassParts } from './runtime-class.ts';
import { StartMetrics } from './metrics/start-metrics.ts';
import type { Surroundings } from './provider-context.ts';
import { UserNamespaces } from '../containers/userns/userns-manager.ts';
import { hostSubordinateIds } from '../containers/userns/subordinate-ids.ts';
import type { CommonParts } from './common-parts.ts';

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
  readonly endings: Pick<Endings, 'knowsPressure'>;
  /** What runs beside the controller. */
  readonly upkeep: (signal: AbortSignal) => Promise<void>;
  /** Starts the HTTP servers; the node tells the port of the kubelet API from then on. */
  readonly serve: () => Promise<Served>;
}

const silentRecorder: EventRecorder = { event: () => undefined };

/** Puts a node agent together and makes its provider; nothing runs yet. */
export async function makeParts(options: AgentOptions): Promise<AgentParts> {
  const { client, nodeName, rootDir } = options;
  const common = commonParts(options);
  const view = apiView(options, common);
  mkdirSync(rootDir, { recursive: true, mode: 0o750 });
  if (options.mountsVolumes) await makeShared(rootDir);
  const machine = await measureMachine(rootDir);
  const nodeIPs = options.nodeIPs ?? machine.addresses.slice(0, 1);
  let kubeletPort = 0;
  const endings = new Endings(options);
  const setters = nodeSetters({
    machine,
    nodeName,
    nodeIPs,
    settings: { features: ownFeatures(options), ...endings.node, ...options.node },
    kubeletPort: () => kubeletPort,
  });
  const identity = nodeIdentity(options, machine);
  const { node: first } = await foldSetters(setters, initialNode(identity), common.clock.now());
  const watchedNode = (): Node | undefined => view.nodes?.store.get(nodeName);
  const nodeGetter = (): Node => watchedNode() ?? first;
  const nodeAllocatable = (): ResourceList => nodeGetter().status?.allocatable ?? {};
  const { projectsTrustBundles = false } = options;
  const hostParts = {
    ...common,
    mounter: hostMounter,
    secretsInMemory: options.mountsVolumes === true,
    projectsTrustBundles,
    rootDir,
    nodeAllocatable,
  };
  const host = nodeHost({ ...hostParts, ...(client && { kubeClient: client }) });
  const config = new PodConfig(common);
  const sourcesReady = new SourcesReady(config);
  const late: { controller?: PodsController } = {};
  const engines = (): PodsController['engines'] | undefined => late.controller?.engines;
  const cgroups = await podCgroups({ options, common, machine, engines, volumes: host.podVolumes });
  const users = await perPodParts(options, common, host);
  const { kernelVersion } = machine.system;
  const podHost = { ...host, ...cgroups, ...users.host, ...endings.host, kernelVersion };
  const sources = { config, sourcesReady };
  const fixed = { nodeIPs, nodeGetter, pods: view.pods };
  const controller = makeController({ options, common, ...fixed, ...sources, host: podHost });
  const rest = { machine, nodeIPs, nodeGetter, nodeAllocatable, host, controller, users, ...cgroups };
  const given = { options, common, view, ...rest };
  const counted = countersOf(common, engines);
  const provider = await options.makeProvider(surroundings({ ...given, ...counted }));
  controller.registerProvider(provider);
  late.controller = controller;
  const nodeParts = { ...common, options, provider, identity, watchedNode, setters, controller, endings };
  const node = client && { node: makeNodeController({ ...nodeParts, client }) };
  const addresses = nodeAddresses(view, nodeGetter);
  const told = { nodeName, rootDir, nodeIPs, addresses, endings, cgroupReadings: cgroups.readings };
  const served = { ...common, controller, client, host, ...told, ...counted };
  const serve = serving(options, served, (port) => {
    kubeletPort = port;
  });
  const upkeep = upkeepOf({ ...given, ...node, ...counted, sourcesReady, endings, cgroups });
  return { ...common, ...view, config, controller, provider, host, endings, serve, upkeep, ...node };
}

/** Who counts what the provider does. */
const countersOf = (
  { clock }: Pick<CommonParts, 'clock'>,
  engines: () => PodsController['engines'] | undefined,
): { readonly runtimeCalls: RuntimeCallMetrics; readonly starts: StartMetrics } => ({
  runtimeCalls: new RuntimeCallMetrics(clock),
  starts: new StartMetrics(() => engines()?.metrics.starts),
});

interface UpkeepInput {
  readonly options: AgentOptions;
  readonly common: CommonParts;
  readonly controller: PodsController;
  readonly host: Pick<NodeHost, 'podVolumes'>;
  readonly sourcesReady: SourcesReady;
  readonly endings: Endings;
  readonly cgroups: Pick<Awaited<ReturnType<typeof podCgroups>>, 'stats' | 'keepEnforced'>;
  readonly starts: Pick<StartMetrics, 'imageRemoved'>;
  readonly node?: NodeController;
}

/** The provider's upkeep, and the endings that it helps to put off. */
function upkeepOf(input: UpkeepInput): AgentParts['upkeep'] {
  const { options, common, controller, host, sourcesReady, endings, cgroups, node, starts } = input;
  const { nodeName } = options;
  const nodeRef = nodeRefOf(nodeName);
  const allSourcesReady = (): boolean => sourcesReady.allReady();
  const upkeep = options.upkeep?.({
    ...common,
    controller,
    nodeRef,
    allSourcesReady,
    imageRemoved: starts.imageRemoved,
  });
  endings.make({
    ...common,
    nodeName,
    options,
    provider: controller.engines.provider,
    engines: () => controller.engines,
    podVolumes: host.podVolumes,
    ...(upkeep && { upkeep }),
    ...(cgroups.stats && { cgroupStats: cgroups.stats }),
    syncNodeStatus: async () => {
      await node?.refresh();
    },
  });
  return async (signal) => {
    await Promise.all([upkeep?.run(signal), endings.run(signal), cgroups.keepEnforced?.(signal)]);
  };
}

/** What is known before there is a provider; who makes one adds the rest. */
const ownFeatures = ({ kubeletApi }: AgentOptions): readonly string[] =>
  declaredFeatures({
    webSockets: kubeletApi !== undefined && kubeletApi.debugging !== false,
    containers: false,
    resizes: false,
  });

interface ControllerParts {
  readonly options: AgentOptions;
  readonly common: CommonParts;
  readonly nodeIPs: readonly string[];
  readonly nodeGetter: () => Node;
  readonly config: PodConfig;
  readonly sourcesReady: SourcesReady;
  readonly host: Partial<PodHost>;
  readonly pods: Informer<Pod> | undefined;
}

function makeController({
  options,
  common,
  config,
  host,
  nodeIPs,
  pods,
  ...rest
}: ControllerParts): PodsController {
  const { client, periods, statuses, tracer, appArmorFault, allowedUnsafeSysctls = [] } = options;
  return new PodsController({
    ...common,
    ...rest,
    allocations: new CheckpointFile(join(options.rootDir, 'allocated_pods_state')),
    nodeName: options.nodeName,
    nodeIP: nodeIPs,
    configUpdates: config.updates,
    eventRecorder: common.recorder,
    host: { ...host, allowedUnsafeSysctls, ...(appArmorFault && { appArmorFault }) },
    ...(client && { kubeClient: client }),
    ...(pods && { knownPods: pods.known }),
    ...(periods && { periods }),
    ...(statuses && { statuses }),
    ...(tracer && { tracer }),
  });
}

/** Starts the HTTP servers when it is called, and tells the port of the kubelet API. */
function serving(
  options: AgentOptions,
  {
    endings,
    runtimeCalls,
    starts,
    host: { podVolumes },
    ...parts
  }: Omit<Parameters<typeof servePorts>[1], 'summary' | 'moreMetrics' | 'tracer'> & {
    readonly endings: Endings;
    readonly runtimeCalls: RuntimeCallMetrics;
    readonly starts: StartMetrics;
    readonly host: Pick<NodeHost, 'podVolumes'>;
  },
  tellPort: (port: number) => void,
): () => Promise<Served> {
  const metrics = new PodResourcesMetrics();
  return async () => {
    const ports = await servePorts(options, {
      ...parts,
      tracer: options.tracer,
      summary: () => endings.summary,
      moreMetrics: () => [
        ...runtimeCalls.collect(),
        ...starts.collect(),
        ...endings.collect(),
        ...sweepMetrics(podVolumes.lastSweep),
        ...metrics.collect(),
        ...(options.moreMetrics?.() ?? []),
      ],
    });
    tellPort(ports.port);
    const resources = options.podResources ? await podResourcesApi({ ...parts, metrics }) : undefined;
    return {
      port: ports.port,
      close: async () => {
        resources?.close();
        await ports.close();
      },
    };
  };
}

/** The addresses of the node as its object tells them, or as it will once it is registered. */
const nodeAddresses = ({ nodes }: ApiView, nodeGetter: () => Node): NodeAddresses => ({
  current: () => nodeGetter().status?.addresses ?? [],
  onChange: (listener) => {
    const subscription = nodes?.bursts().subscribe(listener);
    return () => subscription?.unsubscribe();
  },
});

function commonParts({
  clock = systemClock,
  random = systemRandom,
  logger = silentLogger,
  client,
  nodeName: host,
  events,
  onEvent: observe,
}: AgentOptions): CommonParts {
  const base = { clock, random, logger };
  const recorder = client
    ? new EventBroadcaster({ client, ...base, ...(observe && { observe }) }, { host, ...events })
    : silentRecorder;
  return { ...base, recorder };
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
  readonly runtimeCalls: RuntimeCallMetrics;
  readonly starts: StartMetrics;
  readonly options: AgentOptions;
  readonly common: CommonParts;
  readonly view: ApiView;
  readonly machine: MeasuredMachine;
  readonly nodeIPs: readonly string[];
  readonly nodeGetter: () => Node;
  readonly nodeAllocatable: () => ResourceList;
  readonly host: NodeHost;
  readonly controller: PodsController;
  readonly users: PerPodParts;
  readonly cgroupParent: (pod: Pod) => string;
  readonly podCgroup?: PodCgroupAccess;
}

function surroundings(given: Given): Surroundings {
  const { options, common, view, machine, nodeIPs, nodeGetter, nodeAllocatable, host, controller } = given;
  const { clusterDomain = '', clusterDns = [], rootDir } = options;
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
    cgroupParent: given.cgroupParent,
    ...(given.podCgroup && { podCgroup: given.podCgroup }),
    ...given.users.helper,
    isPodTerminationRequested: (uid) => controller.getPodStateProvider().isPodTerminationRequested(uid),
    ...(options.mountsVolumes && {
      subPaths: new SubPaths({
        ...common,
        rootDir,
        mounter: hostMounter,
        pid: process.pid,
        answers: (path) => host.podVolumes.answers(path),
      }),
    }),
  });
  return {
    ...common,
    runtimeCalls: given.runtimeCalls,
    starts: given.starts,
    helper,
    actuated: new CheckpointFile(join(rootDir, 'actuated_pods_state')),
    rootDir,
    machine,
    serviceAccounts: host.serviceAccounts,
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

/** What pods' own users and runtime classes are to the parts of an agent. */
interface PerPodParts {
  readonly host: PodUsersParts['host'] & RuntimeClassParts['host'];
  readonly helper: PodUsersParts['helper'] & RuntimeClassParts['helper'];
}

async function perPodParts(
  options: AgentOptions,
  common: CommonParts,
  orphans: Pick<PodHost, 'cleanupOrphans'>,
): Promise<PerPodParts> {
  const users = await podUsers(options, common, orphans);
  const classes = runtimeClassParts(options);
  return { host: { ...users.host, ...classes.host }, helper: { ...users.helper, ...classes.helper } };
}

/** What pods' own users are to the parts of an agent. */
interface PodUsersParts {
  readonly host: Partial<Pick<PodHost, 'releaseUsers' | 'cleanupOrphans'>>;
  readonly helper: Pick<RuntimeHelper, 'userNamespace'>;
}

/** The users of pods that want their own, where the provider takes that from the agent. */
async function podUsers(
  { userNamespaces, rootDir, node }: AgentOptions,
  { random }: CommonParts,
  { cleanupOrphans }: Pick<PodHost, 'cleanupOrphans'>,
): Promise<PodUsersParts> {
  if (!userNamespaces) return { host: {}, helper: {} };
  const users = await UserNamespaces.start({
    ...userNamespaces,
    rootDir,
    random,
    host: hostSubordinateIds,
    maxPods: node?.maxPods ?? defaultMaxPods,
    handlers: () => node?.handlers?.(),
  });
  return {
    helper: { userNamespace: (pod, handler) => users.of(pod, handler) },
    host: {
      releaseUsers: (uid) => {
        users.release(uid);
      },
      cleanupOrphans: async (desired, running) => {
        await cleanupOrphans(desired, running);
        users.releaseOrphans((uid) => desired.has(uid) || running.has(uid));
      },
    },
  };
}
