import { mkdirSync } from 'node:fs';
import { makeShared } from '../containers/volumes/mounter.ts';
import { measureMachine, type MeasuredMachine } from '../containers/stats/machine-info.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { Node } from '../kube/types.ts';
import { initialNode, type NodeIdentity } from '../node/register.ts';
import { foldSetters } from '../node/setters/setter.ts';
import type { AgentOptions } from './agent-options.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CommonParts } from './common-parts.ts';
import { declaredFeatures } from './declared-features.ts';
import { hardThresholds } from './evictions.ts';
import type { NodeAddresses } from './node-addresses.ts';
import { nodeSetters, type NodeSettersInput } from './node-setters.ts';

/** The machine that the agent runs on, and its Node object. */
export interface NodeView {
  readonly machine: MeasuredMachine;
  /** The node's addresses, primary first. */
  readonly nodeIPs: readonly string[];
  readonly identity: NodeIdentity;
  /** The parts of the node status that are known before anything runs. */
  readonly status: Omit<NodeSettersInput, 'kubeletPort'>;
  /** The Node object from the API server; `undefined` before it was seen. */
  readonly watched: () => Node | undefined;
  /** The Node object from the API server, or else the one that will be registered. */
  readonly current: () => Node;
  /** The node's allocatable resources. */
  readonly allocatable: () => ResourceList;
  readonly addresses: NodeAddresses;
}

/** Creates the root directory, measures the machine, and makes the Node object to register. */
export async function buildNodeView(
  options: AgentOptions,
  { clock }: CommonParts,
  { nodes }: ClusterView,
): Promise<NodeView> {
  const { nodeName, rootDir, eviction } = options;
  mkdirSync(rootDir, { recursive: true, mode: 0o750 });
  if (options.mountsVolumes) await makeShared(rootDir);
  const machine = await measureMachine(rootDir);
  const nodeIPs = options.nodeIPs ?? machine.addresses.slice(0, 1);
  const identity = nodeIdentity(options, machine);
  const hardEviction = eviction && { hardEviction: hardThresholds(eviction.settings.thresholds) };
  const settings = { features: ownFeatures(options), ...hardEviction, ...options.node };
  const status = { machine, nodeName, nodeIPs, settings };
  const setters = nodeSetters({ ...status, kubeletPort: () => 0 });
  const { node: first } = await foldSetters(setters, initialNode(identity), clock.now());
  const watched = (): Node | undefined => nodes?.store.get(nodeName);
  const current = (): Node => watched() ?? first;
  return {
    machine,
    nodeIPs,
    identity,
    status,
    watched,
    current,
    allocatable: () => current().status?.allocatable ?? {},
    addresses: {
      current: () => current().status?.addresses ?? [],
      onChange: (listener) => {
        const subscription = nodes?.bursts().subscribe(listener);
        return () => subscription?.unsubscribe();
      },
    },
  };
}

/** The features of the agent itself; providers add others with `AgentOptions.node.features`. */
const ownFeatures = ({ kubeletApi }: AgentOptions): readonly string[] =>
  declaredFeatures({
    webSockets: kubeletApi !== undefined && kubeletApi.debugging !== false,
    containers: false,
    resizes: false,
  });

/** The identity of the Node object: from the options, or else from the machine. */
export const nodeIdentity = (
  { nodeName, node = {} }: AgentOptions,
  { system }: MeasuredMachine,
): NodeIdentity =>
  node.identity ?? {
    name: nodeName,
    hostname: nodeName,
    operatingSystem: system.operatingSystem,
    architecture: system.architecture,
    ...(node.labels && { labels: node.labels }),
    ...(node.optionalLabels && { optionalLabels: node.optionalLabels }),
    ...(node.taints && { taints: node.taints }),
    ...(node.providerId !== undefined && { providerId: node.providerId }),
    ...(node.controllerAttachDetach === false && { controllerAttachDetach: false }),
    ...(node.externalCloudProvider !== undefined && { externalCloudProvider: node.externalCloudProvider }),
  };
