import type { ApiClient } from '../api/client.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource, nodeResource } from '../api/resources.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { MeasuredMachine } from '../containers/stats/machine-info.ts';
import { NodeController } from '../node/node-controller.ts';
import type { NodeIdentity } from '../node/register.ts';
import type { ReadyFaults } from '../node/setters/conditions.ts';
import type { NodeStatusSetter } from '../node/setters/setter.ts';
import type { NodeProvider } from '../provider/provider.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import type { Endings } from './node-protection.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { RuntimeState } from '../pods/runtime-state.ts';

/** What the node is called: as told, or after the machine. */
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
    ...(node.taints && { taints: node.taints }),
    ...(node.providerId !== undefined && { providerId: node.providerId }),
    ...(node.controllerAttachDetach === false && { controllerAttachDetach: false }),
    ...(node.externalCloudProvider !== undefined && { externalCloudProvider: node.externalCloudProvider }),
  };

interface NodeParts extends CommonParts {
  readonly options: AgentOptions;
  readonly client: ApiClient;
  readonly provider: AgentProvider;
  readonly identity: NodeIdentity;
  readonly watchedNode: () => Node | undefined;
  readonly setters: readonly NodeStatusSetter[];
  readonly controller: PodsController;
  readonly endings: Pick<Endings, 'shutdownFault'>;
}

/** A provider without a ping of its own counts as well, and one whose runtime's health is watched says nothing beside that. */
const alwaysWell: NodeProvider = { ping: () => Promise.resolve() };

/** The node's controller over this agent's parts. */
export function makeNodeController({
  options,
  client,
  provider,
  controller,
  endings,
  ...config
}: NodeParts): NodeController {
  const { ping } = provider;
  const isWatched = provider.runtimeHealth !== undefined;
  return new NodeController(
    '',
    ping && !isWatched ? { ping: (signal) => ping.call(provider, signal) } : alwaysWell,
    new ResourceClient<Node>(client, nodeResource),
    new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease'),
    {
      ...config,
      readyFaults: () => readyFaults(controller, endings.shutdownFault(), options.storageFault?.()),
      ...options.node,
    },
  );
}

/** What the runtime, a shutdown and the agent's storage say against being ready (R258). */
export function readyFaults(
  { engines: { runtimeState } }: { readonly engines: { readonly runtimeState: RuntimeState } },
  shutdown: string | undefined,
  storage?: string,
): ReadyFaults {
  const network = runtimeState.networkError();
  const errors = runtimeState.errors();
  return {
    runtime: errors,
    ...(storage !== undefined && { storage }),
    ...(shutdown !== undefined && { shutdown }),
    ...(network !== undefined && { network }),
  };
}
