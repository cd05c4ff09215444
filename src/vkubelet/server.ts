import type { ApiClient } from '../api/client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { NodeCondition, NodeStatus } from '../kube/types.ts';
import type { AnyProvider, MutableNode, NodeProvider } from './contract.ts';
import { invalidInput } from './errors.ts';
import { newNode, type VirtualNode } from './node.ts';
import type { TlsOptions } from './node-config.ts';
import type { ResourceManager } from './resource-manager.ts';

type Taint = { readonly key: string; readonly value?: string; readonly effect: string };

/** What the first releases' providers said of their node. */
export interface FirstReleaseProvider {
  capacity?(): Readonly<Record<string, string>>;
  nodeConditions?(): readonly NodeCondition[];
  nodeAddresses?(): NonNullable<NodeStatus['addresses']>;
  operatingSystem?(): string;
}

/** How the first releases' server is made. */
export interface ServerConfig {
  readonly client?: ApiClient;
  readonly connection?: ApiConnection;
  readonly kubeconfigPath?: string;
  readonly nodeName: string;
  readonly provider: AnyProvider & FirstReleaseProvider & Partial<NodeProvider>;
  readonly resourceManager?: ResourceManager;
  readonly taint?: Taint;
  readonly podSyncWorkers?: number;
  /** Address and certificate of the HTTP API; absent: the caller serves it (`attachPodRoutes`). */
  readonly apiConfig?: { readonly addr: string; readonly certPath?: string; readonly keyPath?: string };
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/**
 * The first releases' server: registers the node and brings its pods to the provider.
 *
 * @example
 * const server = new Server({ nodeName: 'rooms', provider, kubeconfigPath });
 * await server.run(signal);
 */
export class Server {
  readonly #node: VirtualNode;

  /** @throws {InvalidInputError} naming what is missing */
  constructor(config: ServerConfig) {
    if (!(config as Partial<ServerConfig>).provider) throw invalidInput('missing provider: set `provider`');
    const { provider, taint, apiConfig, client, connection, kubeconfigPath, clock, logger } = config;
    const { ping, notifyNodeStatus } = provider;
    const nodeProvider: NodeProvider | undefined =
      ping && notifyNodeStatus
        ? {
            ping: (context) => ping.call(provider, context),
            notifyNodeStatus: (notify, context) => {
              notifyNodeStatus.call(provider, notify, context);
            },
          }
        : undefined;
    this.#node = newNode(
      config.nodeName,
      ({ node }) => {
        describe(node, provider);
        if (taint) node.spec.taints = [...(node.spec.taints ?? []), taint];
        return nodeProvider ? [provider, nodeProvider] : [provider];
      },
      (node) => {
        node.httpListenAddr = apiConfig?.addr ?? '';
        if (apiConfig) node.tls = tlsOf(apiConfig);
        if (client) node.client = client;
        if (connection) node.connection = connection;
        if (kubeconfigPath !== undefined) node.kubeconfigPath = kubeconfigPath;
        if (clock) node.clock = clock;
        if (logger) node.logger = logger;
        if (config.podSyncWorkers !== undefined) node.numWorkers = config.podSyncWorkers;
      },
    );
  }

  /** Runs until `signal` aborts; pods go on. */
  run(signal: AbortSignal): Promise<void> {
    return this.#node.run(signal);
  }

  /** Resolves when the node is Ready. */
  get ready(): Promise<void> {
    return this.#node.ready;
  }

  /** The node behind the server. */
  get node(): VirtualNode {
    return this.#node;
  }
}

function describe(node: MutableNode, provider: FirstReleaseProvider): void {
  const capacity = provider.capacity?.();
  if (capacity) node.status = { ...node.status, capacity: { ...capacity }, allocatable: { ...capacity } };
  const conditions = provider.nodeConditions?.();
  if (conditions) node.status.conditions = [...conditions];
  const addresses = provider.nodeAddresses?.();
  if (addresses) node.status.addresses = [...addresses];
  const system = provider.operatingSystem?.();
  if (system !== undefined) {
    node.metadata.labels['kubernetes.io/os'] = system.toLowerCase();
    node.metadata.labels['beta.kubernetes.io/os'] = system.toLowerCase();
  }
}

const tlsOf = ({ certPath, keyPath }: NonNullable<ServerConfig['apiConfig']>): TlsOptions =>
  certPath !== undefined && keyPath !== undefined ? { certFile: certPath, keyFile: keyPath } : {};
