import { definedMembers } from '../base/members-of.ts';
import { cpus } from 'node:os';
import type { ApiClient } from '../api/client.ts';
import { EventBroadcaster } from '../api/events/event-recorder.ts';
import { SharedInformers } from '../api/cache/shared-informers.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { serveKubeletApi, serverHost } from '../agent/server-host.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { PodProvider } from '../provider/provider.ts';
import { type KubeletServer, serveReadOnly } from '../server/kubelet-server.ts';
import {
  type AnyProvider,
  type Context,
  type MutableNode,
  NaiveNodeProviderV2,
  type NodeProvider,
} from './contract.ts';
import { invalidInput } from './errors.ts';
import {
  type Address,
  defaultNode,
  listenAddress,
  type NewProviderFunc,
  type NodeConfig,
  type NodeOpt,
  providerConfig,
  withCapacity,
} from './node-config.ts';
import { NodeController } from './node-controller.ts';
import {
  withNodeDeps,
  withNodeEnableLeaseV1,
  withNodeStatusUpdateErrorHandler,
} from './node-controller-options.ts';
import { withReady } from './node-status.ts';
import { PodController } from './pod-controller.ts';

/** A node of one provider: registration, lease, HTTP API, pods. */
export interface VirtualNode {
  /** Runs until `signal` aborts; pods go on. @throws what ended it otherwise */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the node is Ready; never if it ends before. */
  readonly ready: Promise<void>;
  /** Resolves when {@link run} has ended, however. */
  readonly done: Promise<void>;
  /** The error that ended {@link run}; undefined while it runs and after a requested stop. */
  readonly err: unknown;
  /** Resolves when the node is Ready. @throws what ended the node before, or the signal's reason */
  waitReady(signal?: AbortSignal): Promise<void>;
  /** @throws {AgentError} `failed_precondition` before {@link run} has connected */
  readonly podController: PodController;
  /** @throws {AgentError} `failed_precondition` before {@link run} has connected */
  readonly nodeController: NodeController;
  /** Where the HTTP API listens; port 0 before it does. */
  readonly address: { readonly host: string; readonly port: number };
}

/**
 * Makes a node of a virtual-kubelet provider. It starts in this order: HTTP API, informers, pod controller, node controller; then the node is marked
 * Ready.
 *
 * @example
 * const node = newNode('rooms', () => [new Rooms()]);
 * void node.run(signal);
 * await node.waitReady();
 */
export function newNode(
  name: string,
  newProvider: NewProviderFunc,
  ...options: readonly NodeOpt[]
): VirtualNode {
  let config: NodeConfig = {
    nodeSpec: defaultNode(name),
    httpListenAddr: ':10250',
    informerResyncPeriod: 60_000,
    numWorkers: cpus().length,
  };
  for (const option of options) config = option(config) ?? config;
  return new ComposedNode(name, newProvider, config);
}

/** What all parts have in common. */
interface Base {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What is closed at the end, the last one first. */
type Closers = (() => Promise<void>)[];

class ComposedNode implements VirtualNode {
  readonly #name: string;
  readonly #newProvider: NewProviderFunc;
  readonly #config: NodeConfig;
  readonly #listen: Address | undefined;
  readonly #ready = new Latch();
  readonly #done = new Latch();
  #err: unknown;
  #pods: PodController | undefined;
  #node: NodeController | undefined;
  #server: KubeletServer | undefined;
  #running = false;

  constructor(name: string, newProvider: NewProviderFunc, config: NodeConfig) {
    if (name === '') throw invalidInput('the node has no name');
    this.#name = name;
    this.#newProvider = newProvider;
    this.#config = config;
    const { httpListenAddr = ':10250' } = config;
    this.#listen = httpListenAddr === '' ? undefined : listenAddress(httpListenAddr);
  }

  get ready(): Promise<void> {
    return this.#ready.wait();
  }

  get done(): Promise<void> {
    return this.#done.wait();
  }

  get err(): unknown {
    return this.#err;
  }

  get podController(): PodController {
    return this.#pods ?? early();
  }

  get nodeController(): NodeController {
    return this.#node ?? early();
  }

  get address(): Address {
    return { host: hostOf(this.#listen), port: this.#server?.port ?? 0 };
  }

  async waitReady(signal?: AbortSignal): Promise<void> {
    const ended = this.#done.wait().then(() => {
      if (this.#ready.isOpen) return;
      throw new AgentError(
        'unavailable',
        `the node ended before it was ready: ${messageOf(this.#err ?? 'it was told to')}`,
      );
    });
    await Promise.race([this.#ready.wait(signal), ended]);
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a node runs only once');
    this.#running = true;
    const stop = new AbortController();
    const closers: Closers = [];
    try {
      await this.#run(AbortSignal.any([signal, stop.signal]), closers);
    } catch (reason) {
      if (signal.aborted) return;
      this.#err = reason;
      throw reason;
    } finally {
      stop.abort();
      for (const close of closers.reverse())
        await close().catch((reason: unknown) => {
          this.#config.logger?.warn('a part of the node could not be closed', { err: messageOf(reason) });
        });
      this.#done.open();
    }
  }

  async #run(signal: AbortSignal, closers: Closers): Promise<void> {
    const base = this.#base;
    const client = this.#config.client ?? (await this.#connect(base, closers));
    const recorder = this.#recorder(client, base, closers);
    const informers = new SharedInformers({ client, ...base });
    const spec = structuredClone(this.#config.nodeSpec) as MutableNode;
    const [provider, nodeProvider] = await this.#newProvider(providerConfig(this.#name, informers, spec));
    withCapacity(spec);
    const naive = nodeProvider === undefined ? new NaiveNodeProviderV2() : readied(nodeProvider);
    const pods = this.#makePods(client, provider, { informers, recorder, spec });
    this.#pods = pods;
    const node = this.#makeNode(client, nodeProvider ?? naive ?? new NaiveNodeProviderV2(), spec);
    this.#node = node;
    const running = pods.run(signal);
    const failed = endOf(running, signal);
    await Promise.race([this.#serve(client, pods, closers), failed]);
    this.#tellEndpoint(spec);
    informers.start(signal);
    await Promise.race([pods.ready, failed, aborted(signal)]);
    await Promise.all([running, this.#keepNode(node, naive, spec, signal)]);
  }

  async #keepNode(
    node: NodeController,
    naive: NaiveNodeProviderV2 | undefined,
    spec: MutableNode,
    signal: AbortSignal,
  ): Promise<void> {
    const running = node.run(signal);
    await Promise.race([node.ready, running]);
    const { clock = systemClock } = this.#config;
    if (!signal.aborted) {
      const ready = withReady({ ...spec }, true, 'kubelet is posting ready status', clock.now());
      await naive?.updateStatus({ ...ready, status: { ...ready.status, ...runningPhase } }, signal);
      if (naive) await Promise.race([node.waitPosted(signal), running]);
      this.#ready.open();
    }
    await running;
  }

  get #base(): Base {
    const { clock = systemClock, random = systemRandom, logger = silentLogger } = this.#config;
    return { clock, random, logger };
  }

  async #connect(deps: Base, closers: Closers): Promise<HttpApiClient> {
    const { connection, kubeconfigPath, tracer } = this.#config;
    const found =
      connection ??
      (await connectionFromKubeconfig(deps.clock, kubeconfigPath === '' ? undefined : kubeconfigPath));
    const client = createApiClient(found, { ...deps, ...(tracer && { tracer }) });
    closers.push(() => client.close());
    return client;
  }

  #recorder(client: ApiClient, deps: Base, closers: Closers): EventRecorder {
    const { eventRecorder } = this.#config;
    if (eventRecorder) return eventRecorder;
    const broadcaster = new EventBroadcaster(
      { client, ...deps },
      { host: this.#name, component: `${this.#name}/pod-controller` },
    );
    closers.push(async () => {
      await Promise.race([broadcaster.flush(), deps.clock.sleep(2000)]).catch(() => undefined);
      broadcaster.stop();
    });
    return broadcaster;
  }

  #makePods(
    client: ApiClient,
    provider: AnyProvider | PodProvider,
    { informers, recorder, spec }: { informers: SharedInformers; recorder: EventRecorder; spec: MutableNode },
  ): PodController {
    const { skipDownwardAPIResolution, providerName, lostPods, listPeriodMs, periods } = this.#config;
    const { clock, random, logger, tracer } = this.#config;
    const addresses = (spec.status.addresses ?? []).filter(({ type }) => type === 'InternalIP');
    return new PodController({
      client,
      provider,
      nodeName: this.#name,
      node: () => spec,
      nodeIPs: addresses.map(({ address }) => address).filter((address) => address !== ''),
      informers,
      eventRecorder: recorder,
      ...definedMembers({ skipDownwardAPIResolution, providerName, lostPods, listPeriodMs, periods }),
      ...definedMembers({ resyncPeriodMs: this.#config.informerResyncPeriod, sources: this.#config.sources }),
      ...definedMembers({ clock, random, logger, tracer }),
    });
  }

  #makeNode(client: ApiClient, nodeProvider: NodeProvider, spec: MutableNode): NodeController {
    const { nodeStatusUpdateErrorHandler, clock, random, logger } = this.#config;
    return new NodeController(
      nodeProvider,
      spec,
      client,
      withNodeEnableLeaseV1(client),
      withNodeDeps(definedMembers({ clock, random, logger })),
      ...(nodeStatusUpdateErrorHandler
        ? [withNodeStatusUpdateErrorHandler(nodeStatusUpdateErrorHandler)]
        : []),
    );
  }

  async #serve(client: ApiClient, pods: PodController, closers: Closers): Promise<void> {
    const controller = await pods.started;
    await this.#serveMetrics(controller, closers);
    if (!this.#listen) return;
    const server = await serveKubeletApi(this.#serveOptions(this.#listen, client, controller));
    this.#server = server;
    closers.push(() => server.close());
  }

  async #serveMetrics({ engines }: PodsController, closers: Closers): Promise<void> {
    const { metricsAddr = '', clock, logger } = this.#config;
    if (metricsAddr === '') return;
    const { host: address, port } = listenAddress(metricsAddr);
    const host = serverHost({ engines, nodeName: this.#name, ...definedMembers({ clock }) });
    const open = await serveReadOnly({
      host,
      port,
      address: address === '' ? '::' : address,
      ...definedMembers({ clock, logger }),
    });
    closers.push(() => open.close());
  }

  #serveOptions(
    { host, port }: Address,
    client: ApiClient,
    { engines }: PodsController,
  ): Parameters<typeof serveKubeletApi>[0] {
    const { tls = {}, auth, handler, debugHTTP = true, clock, logger, tracer } = this.#config;
    const { certFile, keyFile, clientCaFile, clientCa, cert, key } = tls;
    const { streamIdleTimeout, streamCreationTimeout } = this.#config;
    return {
      engines,
      nodeName: this.#name,
      address: host === '' ? '::' : host,
      port,
      authorization: 'webhook',
      client,
      debugging: debugHTTP,
      streams: definedMembers({ idleMs: streamIdleTimeout, creationMs: streamCreationTimeout }),
      ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
      ...(certFile !== undefined && keyFile !== undefined && { tlsFiles: { certFile, keyFile } }),
      ...definedMembers({ clientCaFile, clientCa, access: auth, handler, clock, logger, tracer }),
    };
  }

  /** The node says where its HTTP API is. */
  #tellEndpoint(spec: MutableNode): void {
    if (!this.#server) return;
    spec.status.daemonEndpoints = { kubeletEndpoint: { Port: this.#server.port } };
  }
}

/**
 * A node provider of a provider that only says whether it is well: the node is Ready when its controllers are, and NotReady while `ping`
 * rejects.
 *
 * @example
 * const nodeProvider = new PingedNodeProvider(async () => { await cloud.ping(); });
 */
export class PingedNodeProvider extends NaiveNodeProviderV2 {
  readonly #ping: (context: Context) => Promise<void>;

  constructor(ping: (context: Context) => Promise<void>) {
    super();
    this.#ping = ping;
  }

  override ping(context: Context): Promise<void> {
    return this.#ping(context);
  }
}

const readied = (provider: NodeProvider): NaiveNodeProviderV2 | undefined =>
  provider instanceof PingedNodeProvider ? provider : undefined;

const runningPhase: { readonly phase: 'Running' } = { phase: 'Running' };

const hostOf = (listen: Address | undefined): string =>
  listen === undefined || listen.host === '' ? '0.0.0.0' : listen.host;

function early(): never {
  throw new AgentError('failed_precondition', 'the node has not connected yet: run it first');
}

/** Rejects when the pod controller ends before its signal aborts. */
function endOf(running: Promise<void>, signal: AbortSignal): Promise<never> {
  const failed = running.then(() => {
    signal.throwIfAborted();
    throw new AgentError('internal', 'the pod controller has ended');
  });
  failed.catch(() => undefined);
  return failed;
}

async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
  });
}
