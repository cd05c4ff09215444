import { serverHost } from '../agent/server-host.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Pod } from '../kube/types.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import { KubeletServer, type KubeletServerOptions } from '../server/kubelet-server.ts';
import { httpError, type Reply, type ServerRequest } from '../server/reply.ts';
import type { ServerHost } from '../server/host.ts';
import type { SimulatedNode } from './simulated-node.ts';

/** The nodes whose kubelet APIs are served. */
export interface ServedNodes {
  node(name: string): SimulatedNode | undefined;
  nodeAt(address: string): SimulatedNode | undefined;
  pod(namespace: string, name: string): Pod | undefined;
}

/** Options of a KubeletFront. */
export interface KubeletFrontOptions extends Pick<
  KubeletServerOptions,
  'address' | 'port' | 'tls' | 'clientCa' | 'authorizer' | 'authenticators'
> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodes: ServedNodes;
  /** Adds what the node's own kubelet does not know, such as pods that stages play. */
  readonly extend?: (host: ServerHost, node: SimulatedNode) => ServerHost;
}

/** The paths that name a pod: `/containerLogs/{namespace}/{pod}/…`. */
const podPath = /^\/(?:containerLogs|exec|attach|portForward|run|checkpoint)\/([^/?]+)\/([^/?]+)/;

/** A path that names a node: `/nodes/{name}/stats/summary`. */
const nodePath = /^\/nodes\/([^/?]+)(\/[^]*)$/;

/**
 * KubeletFront serves the kubelet APIs of all simulated nodes on one port. The node is the one that has the address which the client connected
 * to, or that runs the pod in the path; `/nodes/NAME/…` names it.
 */
export class KubeletFront {
  readonly #options: KubeletFrontOptions;
  readonly #front: Front;
  readonly #servers = new WeakMap<PodsController, KubeletServer>();

  constructor(options: KubeletFrontOptions) {
    this.#options = options;
    this.#front = new Front({ ...options, host: frontHost }, { handle: (request) => this.#handle(request) });
  }

  get port(): number {
    return this.#front.port;
  }

  listen(): Promise<void> {
    return this.#front.listen();
  }

  close(): Promise<void> {
    return this.#front.close();
  }

  async #handle(request: ServerRequest): Promise<Reply> {
    const [, name, rest = ''] = nodePath.exec(request.target) ?? [];
    const { nodes } = this.#options;
    const node = name === undefined ? this.#nodeOf(request) : nodes.node(decodeURIComponent(name));
    if (!node)
      return httpError(
        404,
        'no simulated node has this address or runs this pod: use /nodes/NAME/ before the path',
      );
    return this.#serverOf(node).handle(name === undefined ? request : { ...request, target: rest });
  }

  #nodeOf({ localAddress = '', target }: ServerRequest): SimulatedNode | undefined {
    const { nodes } = this.#options;
    const [, namespace, pod] = podPath.exec(target) ?? [];
    const byPod = pod === undefined ? undefined : nodes.pod(decoded(namespace ?? ''), decoded(pod));
    const byAddress = nodes.nodeAt(localAddress.replace(/^::ffff:/, ''));
    return byAddress ?? nodes.node(byPod?.spec?.nodeName ?? '');
  }

  /** Returns the server of a node; made at the first request, since most nodes never get one. */
  #serverOf(node: SimulatedNode): KubeletServer {
    const controller = node.start();
    const existing = this.#servers.get(controller);
    if (existing) return existing;
    const { extend, clock, logger, authorizer, authenticators } = this.#options;
    const host = serverHost({ engines: controller.engines, nodeName: node.name, clock });
    const server = new KubeletServer({
      host: withNodeUsage(extend?.(host, node) ?? host),
      ...{ clock, logger, authorizer, tls: 'later' as const },
      ...(authenticators && { authenticators }),
    });
    this.#servers.set(controller, server);
    return server;
  }
}

/** Returns the host with the usage of its pods as that of the node: the machine's own is that of all nodes. */
function withNodeUsage(host: ServerHost): ServerHost {
  const { usage } = host;
  if (!usage) return host;
  return {
    ...host,
    usage: async () => {
      const whole = await usage();
      const containers = whole.pods.flatMap((pod) => pod.containers);
      const sum = (key: 'cpuNanos' | 'cpuNanoCores' | 'workingSetBytes' | 'memoryBytes'): number =>
        containers.reduce((total, container) => total + (container[key] ?? 0), 0);
      const memory = { workingSetBytes: sum('workingSetBytes'), memoryUsedBytes: sum('memoryBytes') };
      const node = { ...whole.node, ...memory, cpuNanos: sum('cpuNanos'), cpuNanoCores: sum('cpuNanoCores') };
      return { ...whole, node };
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The host of the port itself; every request is answered by the server of a node. */
const frontHost: ServerHost = {
  nodeName: '',
  pods: () => [],
  podByName: () => undefined,
  podStatus: () => undefined,
  runningPods: () => Promise.resolve([]),
  syncLoopFault: () => undefined,
};

/** Front listens as a kubelet and passes each request on. */
class Front extends KubeletServer {
  readonly #pass: { handle(request: ServerRequest): Promise<Reply> };

  constructor(options: KubeletServerOptions, pass: { handle(request: ServerRequest): Promise<Reply> }) {
    super(options);
    this.#pass = pass;
  }

  override handle(request: ServerRequest): Promise<Reply> {
    return this.#pass.handle(request);
  }
}
