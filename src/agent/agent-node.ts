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
  /** The port of the kubelet API; 0 when it is not served. */
  readonly servers: { readonly port: number };
}

/** The ping of a provider without its own, and of one whose runtime health is watched anyway: always healthy. */
const alwaysHealthy: NodeProvider = { ping: () => Promise.resolve() };

/** Makes the controller of the Node object and its lease; `undefined` for a standalone agent. */
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
    ping && !isWatched ? { ping: (signal) => ping.call(provider, signal) } : alwaysHealthy,
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

/** The reasons why the node is not ready: from the runtime, a shutdown, or the agent's storage (R258). */
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
