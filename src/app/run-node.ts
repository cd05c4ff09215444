import type { ApiClient } from '../api/client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Node } from '../kube/types.ts';
import type { NodeDescription, PodProvider } from '../provider/provider.ts';
import type { EmbeddedApiServer } from '../apiserver/server.ts';
import {
  type AnyProvider,
  type MutableNode,
  type NodeAuth,
  type NodeConfig,
  type NodeProvider,
  newNode,
  PingedNodeProvider,
  type ProviderConfig,
  type TlsOptions,
  type VirtualNode,
} from '../vkubelet/index.ts';

/** A provider of either contract: `podtender/provider` or `podtender/vkubelet`. */
export type NodeProviderLike = PodProvider | AnyProvider;

/** Options of {@link runNode}; name and provider are required. */
export interface RunNodeOptions extends Pick<
  NodeConfig,
  'sources' | 'lostPods' | 'listPeriodMs' | 'periods'
> {
  readonly nodeName: string;
  /** The provider, or a function that creates it from its configuration. */
  readonly provider:
    NodeProviderLike | ((config: ProviderConfig) => NodeProviderLike | Promise<NodeProviderLike>);
  /** Path of a kubeconfig; absent: `$KUBECONFIG`, `~/.kube/config`, or in-cluster credentials. */
  readonly kubeconfig?: string | undefined;
  /** Replaces `kubeconfig`. */
  readonly connection?: ApiConnection;
  /** Replaces `kubeconfig` and `connection`. */
  readonly client?: ApiClient;
  /** `embedded`: an API server in this process; or one that is already running. Default: the cluster's. */
  readonly server?: 'embedded' | EmbeddedApiServer;
  /** Changes the Node before it is registered: capacity, labels, taints, addresses. */
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- most change the node in place and return nothing
  readonly node?: (node: MutableNode) => Node | void;
  /** Health and status of the node. Default: the provider's `ping`, if it has one. */
  readonly nodeProvider?: NodeProvider;
  /** Address of the kubelet API, `host:port`; `''`: none. Default `:10250`, with an embedded server any free port of 127.0.0.1. */
  readonly listen?: string;
  /** Certificate of the kubelet API. Default: self-signed. */
  readonly tls?: TlsOptions;
  /** Access to the kubelet API. Default: client certificates and tokens that the API server reviews. */
  readonly auth?: NodeAuth;
  /** Address of metrics and health without authentication, `host:port`. Default: none beside the kubelet API. */
  readonly metrics?: string;
  readonly eventRecorder?: EventRecorder;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly tracer?: Tracer;
}

/** A node that is running and Ready. */
export interface RunningNode {
  readonly node: VirtualNode;
  /** Address of the kubelet API. */
  readonly address: { readonly host: string; readonly port: number };
  /** The embedded API server, if there is one. */
  readonly server: EmbeddedApiServer | undefined;
  /** Resolves when the node has ended; rejects with the error that ended it. */
  readonly done: Promise<void>;
  /** Ends the node, and the API server if it was started for it; pods keep running. */
  stop(): Promise<void>;
}

/**
 * Runs a whole node of one provider: registration, lease, kubelet API with logs, exec and metrics, events. Resolves when the node is Ready.
 *
 * @param signal ends the node
 * @throws {AgentError} for invalid options, or when the node cannot become Ready
 *
 * @example
 * const node = await runNode({ nodeName: 'rooms', kubeconfig: process.env.KUBECONFIG, provider: new Rooms() }, signal);
 */
export async function runNode(options: RunNodeOptions, signal?: AbortSignal): Promise<RunningNode> {
  if ((options as Partial<RunNodeOptions>).provider == null)
    throw new AgentError('invalid_argument', 'runNode needs a provider: set `provider`');
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const { server, isOwn } = await serverOf(options);
  const node = nodeOf(options, server);
  const closing = async (): Promise<void> => {
    if (isOwn) await server?.stop();
  };
  const running = node.run(either).finally(closing);
  running.catch(() => undefined);
  try {
    await node.waitReady(either);
  } catch (reason) {
    stop.abort();
    await running.catch(() => undefined);
    throw node.err ?? reason;
  }
  return {
    node,
    address: node.address,
    server,
    done: running,
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

async function serverOf({
  server,
}: RunNodeOptions): Promise<{ readonly server: EmbeddedApiServer | undefined; readonly isOwn: boolean }> {
  if (server !== 'embedded') return { server, isOwn: false };
  const { EmbeddedApiServer } = await import('../apiserver/server.ts');
  return { server: await EmbeddedApiServer.start(), isOwn: true };
}

function nodeOf(options: RunNodeOptions, server: EmbeddedApiServer | undefined): VirtualNode {
  return newNode(
    options.nodeName,
    async (config) => {
      const { provider } = options;
      const result = typeof provider === 'function' ? await provider(config) : provider;
      describeNode(config.node, result);
      const side = options.nodeProvider ?? nodeSideOf(result);
      return side ? [result, side] : [result];
    },
    (config) => {
      configure(config, options, server);
    },
  );
}

function configure(config: NodeConfig, options: RunNodeOptions, server: EmbeddedApiServer | undefined): void {
  const { node, kubeconfig, listen, tls, metrics: metricsAddr } = options;
  const { client, connection, auth, eventRecorder, clock, random, logger, tracer } = options;
  const { sources, lostPods, listPeriodMs, periods } = options;
  const embedded = server && { server: server.url, ca: server.ca, ...server.admin };
  const candidates = {
    ...{ connection: connection ?? embedded, client, kubeconfigPath: kubeconfig, metricsAddr },
    ...{ auth, eventRecorder, clock, random, logger, tracer, sources, lostPods, listPeriodMs, periods },
    httpListenAddr: listen ?? (server ? '127.0.0.1:0' : undefined),
    tls: { ...(server && { clientCa: server.ca }), ...tls },
    providerName: options.nodeName,
  };
  for (const [name, value] of Object.entries(candidates))
    if (value !== undefined) Object.assign(config, { [name]: value });
  const spec = config.nodeSpec as MutableNode;
  delete spec.metadata.labels['type'];
  if (server) spec.status.addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const changed = node?.(spec);
  if (changed) config.nodeSpec = changed;
}

/** Returns the health of a provider with a ping. */
/** Adds what the provider says of its node, where nothing else is set. */
function describeNode(spec: MutableNode, provider: NodeProviderLike): void {
  const { node } = provider as { readonly node?: NodeDescription };
  if (!node) return;
  const { labels = {}, optionalLabels = {}, taints = [], capacity = {} } = node;
  spec.metadata.labels = { ...optionalLabels, ...labels, ...spec.metadata.labels };
  const keys = new Set((spec.spec.taints ?? []).map(({ key }) => key));
  const more = taints.filter(({ key }) => !keys.has(key));
  spec.spec = { ...spec.spec, taints: [...(spec.spec.taints ?? []), ...more] };
  spec.status.capacity = { ...spec.status.capacity, ...capacity };
}

function nodeSideOf(provider: NodeProviderLike): NodeProvider | undefined {
  const { ping } = provider as { readonly ping?: unknown };
  if (typeof ping !== 'function') return undefined;
  const isNative = 'syncPod' in provider;
  const pinged = ping as (argument: unknown) => Promise<void>;
  return new PingedNodeProvider((context) => pinged.call(provider, isNative ? context.signal : context));
}
