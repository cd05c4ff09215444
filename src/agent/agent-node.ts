import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource, nodeResource } from '../api/resources.ts';
import type { Lease, Node } from '../kube/types.ts';
import { NodeController } from '../node/node-controller.ts';
import type { ReadyFaults } from '../node/setters/conditions.ts';
import type { NodeProvider } from '../provider/provider.ts';
import type { AgentOptions, AgentProvider } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import type { NodeProtection } from './node-protection.ts';
import { nodeSetters } from './node-setters.ts';
import type { NodeView } from './node-view.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { RuntimeState } from '../pods/runtime-state.ts';

/** The subsystems that the node reports on. */
export interface NodeParts {
  readonly node: NodeView;
  readonly provider: AgentProvider;
  readonly controller: PodsController;
  readonly protection: Pick<NodeProtection, 'pressure' | 'shutdownFault'>;
  /** Where the kubelet API is served; 0: nowhere. */
  readonly servers: { readonly port: number };
}

/** A provider without a ping of its own counts as well, and one whose runtime's health is watched says nothing beside that. */
const alwaysWell: NodeProvider = { ping: () => Promise.resolve() };

/** The controller that keeps the Node object and its lease; undefined for a standalone agent. */
export function buildNodeController(
  options: AgentOptions,
  common: CommonParts,
  { node, provider, controller, protection, servers }: NodeParts,
): NodeController | undefined {
  const { client } = options;
  if (!client) return undefined;
  const { ping } = provider;
  const { status } = node;
  const pressure = (kind: 'memory' | 'disk' | 'pid'): boolean => protection.pressure(kind);
  const setters = nodeSetters({
    ...status,
    settings: { pressure, ...status.settings },
    kubeletPort: () => servers.port,
  });
  const isWatched = provider.runtimeHealth !== undefined;
  return new NodeController(
    '',
    ping && !isWatched ? { ping: (signal) => ping.call(provider, signal) } : alwaysWell,
    new ResourceClient<Node>(client, nodeResource),
    new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease'),
    {
      ...common,
      identity: node.identity,
      watchedNode: node.watched,
      setters,
      readyFaults: () => readyFaults(controller, protection.shutdownFault(), options.storageFault?.()),
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
