import type { ApiClient } from '../api/client.ts';
import { isNotFound as isApiNotFound } from '../api/client.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource, nodeResource } from '../api/resources.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { LeaseClient, NodeClient } from '../node/clients.ts';
import { LeaseKeeper } from '../node/lease.ts';
import { nodeLeaseNamespace } from '../node/node-controller.ts';
import { PingLoop } from '../node/ping.ts';
import type { NodeProvider } from './contract.ts';
import { updateNodeStatus, withHeartbeats, withReady } from './node-status.ts';

/** Between two pings of the provider, ms. */
export const defaultPingInterval = 10_000;
/** Between two reports of an unchanged node status beside a lease, ms. */
export const defaultStatusUpdateInterval = 60_000;
/** How long a lease lasts, seconds. */
export const defaultLeaseDuration = 40;
/** The part of a lease's duration after which it is renewed. */
export const defaultRenewIntervalFraction = 0.25;
/** Between two pings in the first releases, ms. */
export const firstReleasePingInterval = 5000;

/** Takes an error of a status update: resolves when it was dealt with and the update may be tried again, rejects to end the controller. */
export type ErrorHandler = (error: unknown) => void | Promise<void>;

/** What the options of a node controller set. */
export interface NodeControllerSettings {
  pingIntervalMs: number;
  pingTimeoutMs?: number;
  statusIntervalMs: number;
  lease?: {
    readonly client: LeaseClient;
    readonly durationSeconds: number;
    readonly renewIntervalMs: number;
  };
  onStatusUpdateError?: ErrorHandler;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Sets one thing of a node controller; of two that set the same the last one wins. */
export type NodeControllerOpt = (settings: NodeControllerSettings) => void;

/** How often the provider is pinged, ms. Default 10 s. */
export const withNodePingInterval =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.pingIntervalMs = ms;
  };

/** How long a ping may take, ms, before it counts as failed. Default: for ever. */
export const withNodePingTimeout =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.pingTimeoutMs = ms;
  };

/** How often an unchanged status is reported beside a lease, ms. Default 1 min; without a lease it is reported with each ping. */
export const withNodeStatusUpdateInterval =
  (ms: number): NodeControllerOpt =>
  (settings) => {
    settings.statusIntervalMs = ms;
  };

/** Deals with errors of status updates, a Node that was deleted for example. */
export const withNodeStatusUpdateErrorHandler =
  (handler: ErrorHandler): NodeControllerOpt =>
  (settings) => {
    settings.onStatusUpdateError = handler;
  };

/** Keeps a lease. @param durationSeconds 0 or absent: 40 */
export const withNodeEnableLeaseV1 = (
  client: ApiClient | LeaseClient,
  durationSeconds = 0,
): NodeControllerOpt => {
  const seconds = durationSeconds === 0 ? defaultLeaseDuration : durationSeconds;
  return withNodeEnableLeaseV1WithRenewInterval(
    client,
    seconds,
    Math.floor(seconds * defaultRenewIntervalFraction) * 1000,
  );
};

/** Keeps a lease that is renewed each `renewIntervalMs`. @throws when two options set a lease */
export const withNodeEnableLeaseV1WithRenewInterval =
  (client: ApiClient | LeaseClient, durationSeconds: number, renewIntervalMs: number): NodeControllerOpt =>
  (settings) => {
    if (settings.lease)
      throw new AgentError(
        'invalid_argument',
        'Multiple, conflicting lease configurations have been put into place',
      );
    const seconds = durationSeconds === 0 ? defaultLeaseDuration : durationSeconds;
    if (renewIntervalMs <= 0 || renewIntervalMs >= seconds * 1000)
      throw new AgentError(
        'invalid_argument',
        `the lease of ${seconds} s is renewed each ${renewIntervalMs} ms: the interval must be between 0 and the duration`,
      );
    settings.lease = { client: leasesOf(client), durationSeconds: seconds, renewIntervalMs };
  };

/** The first releases' name: no lease; the status is reported with each ping. */
export const withNodeDisableLease =
  (disable = true): NodeControllerOpt =>
  (settings) => {
    if (disable) delete settings.lease;
  };

/** The first releases' name of {@link withNodeEnableLeaseV1}; a base lease may say how long it lasts. */
export const withNodeLease = (client: ApiClient | LeaseClient, base?: Lease): NodeControllerOpt =>
  withNodeEnableLeaseV1(client, base?.spec?.leaseDurationSeconds ?? 0);

/** Clock, chance and log of a node controller, for tests and embedding. */
export const withNodeDeps =
  (deps: Partial<Pick<NodeControllerSettings, 'clock' | 'random' | 'logger'>>): NodeControllerOpt =>
  (settings) => {
    Object.assign(settings, deps);
  };

const leasesOf = (client: ApiClient | LeaseClient): LeaseClient =>
  isApiClient(client) ? new ResourceClient<Lease>(client, leaseResource, nodeLeaseNamespace) : client;
const nodesOf = (client: ApiClient | NodeClient): NodeClient =>
  isApiClient(client) ? new ResourceClient<Node>(client, nodeResource) : client;
const isApiClient = (client: object): client is ApiClient =>
  !(client instanceof ResourceClient) && 'watch' in client && 'list' in client;

/**
 * Registers a Node and keeps it: its lease, its status as its provider tells it, and its Ready condition, which is False while the provider's ping
 * fails. What others write to the Node stays.
 *
 * @example
 * const controller = new NodeController(new NaiveNodeProvider(), node, client, withNodeEnableLeaseV1(client));
 * await controller.run(signal);
 */
export class NodeController {
  readonly #provider: NodeProvider;
  readonly #nodes: NodeClient;
  readonly #settings: NodeControllerSettings;
  readonly #ready = new Latch();
  readonly #done = new Latch();
  readonly #posted = new Latch();
  readonly #ping: PingLoop;
  #err: unknown;
  /** As the provider wants it. */
  #wanted: Node;
  /** As the API server has it. */
  #server: Node | undefined;
  #wake = new AbortController();
  #running = false;

  /**
   * @param node as it is to be registered
   * @param options as many as one likes
   */
  constructor(
    provider: NodeProvider,
    node: Node,
    nodes: ApiClient | NodeClient,
    ...options: readonly NodeControllerOpt[]
  ) {
    if ((node.metadata?.name ?? '') === '')
      throw new AgentError('invalid_argument', 'the node has no name: set metadata.name');
    this.#provider = provider;
    this.#nodes = nodesOf(nodes);
    this.#wanted = structuredClone(node);
    const settings: NodeControllerSettings = {
      pingIntervalMs: defaultPingInterval,
      statusIntervalMs: defaultStatusUpdateInterval,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    };
    for (const option of options) option(settings);
    this.#settings = settings;
    const { clock, logger, pingIntervalMs, pingTimeoutMs } = settings;
    this.#ping = new PingLoop({ ping: (signal) => provider.ping({ signal, logger }) }, clock, {
      intervalMs: pingIntervalMs,
      ...(pingTimeoutMs !== undefined && { timeoutMs: pingTimeoutMs }),
    });
  }

  /** Resolves when the Node is registered and its control loop runs. */
  get ready(): Promise<void> {
    return this.#ready.wait();
  }

  /** Resolves when {@link run} has ended, however. */
  get done(): Promise<void> {
    return this.#done.wait();
  }

  /** Why {@link run} ended; nothing before it has, and when it was told to. */
  get err(): unknown {
    return this.#err;
  }

  /** Resolves when the API server has the Node as Ready. */
  waitPosted(signal?: AbortSignal): Promise<void> {
    return this.#posted.wait(signal);
  }

  /** The Node as the API server had it last. */
  getNode(): Node | undefined {
    return this.#server;
  }

  /** Keeps the Node until `signal` aborts. @throws what {@link withNodeStatusUpdateErrorHandler} throws */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a node controller runs only once');
    this.#running = true;
    const stop = new AbortController();
    const own = AbortSignal.any([signal, stop.signal]);
    const { lease, logger } = this.#settings;
    this.#provider.notifyNodeStatus(
      (node) => {
        this.#changed(node);
      },
      { signal: own, logger },
    );
    try {
      const pings = this.#ping.run(() => {
        this.#wake.abort();
      }, own);
      await this.#register(own);
      const leasing = lease ? this.#leaseKeeper(lease).run(own) : undefined;
      this.#ready.open();
      await this.#loop(own);
      await Promise.all([pings, leasing]);
    } catch (reason) {
      this.#err = reason;
      throw reason;
    } finally {
      stop.abort();
      this.#done.open();
    }
  }

  #changed({ status, metadata }: Node): void {
    const copy = structuredClone({ status, labels: metadata?.labels, annotations: metadata?.annotations });
    this.#wanted = {
      ...this.#wanted,
      ...(copy.status && { status: copy.status }),
      metadata: {
        ...this.#wanted.metadata,
        ...(copy.labels && { labels: copy.labels }),
        ...(copy.annotations && { annotations: copy.annotations }),
      },
    };
    this.#wake.abort();
  }

  #leaseKeeper({
    client,
    durationSeconds,
    renewIntervalMs,
  }: NonNullable<NodeControllerSettings['lease']>): LeaseKeeper {
    const { clock, random, logger } = this.#settings;
    const name = this.#wanted.metadata?.name ?? '';
    return new LeaseKeeper(
      {
        leases: client,
        getNode: (signal) => this.#nodes.get(name, { signal, timeoutMs: 10_000 }),
        clock,
        random,
        logger,
      },
      { name, namespace: nodeLeaseNamespace, durationSeconds, renewIntervalMs },
    );
  }

  /** Adopts the Node that is there, or makes one; tries until it works. */
  async #register(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#settings;
    for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 7000)) {
      try {
        this.#take(await this.#createOrUpdate(signal));
        return;
      } catch (reason) {
        logger.warn('the node could not be registered', { err: messageOf(reason), pauseMs });
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    }
  }

  #take(node: Node): void {
    this.#server = node;
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') this.#posted.open();
  }

  async #createOrUpdate(signal: AbortSignal): Promise<Node> {
    const wanted = this.#current();
    try {
      return await updateNodeStatus(this.#nodes, wanted, signal);
    } catch (reason) {
      if (!isApiNotFound(reason)) throw reason;
    }
    const made = await this.#nodes.create(
      { kind: 'Node', apiVersion: 'v1', ...wanted },
      { signal, timeoutMs: 10_000 },
    );
    // what a server leaves out of a new object, and what is to be taken out later
    return updateNodeStatus(
      this.#nodes,
      { ...wanted, metadata: { ...wanted.metadata, name: made.metadata?.name ?? '' } },
      signal,
    );
  }

  /** The node with heartbeats, and Ready as the ping says. */
  #current(): Node {
    const now = this.#settings.clock.now();
    const node = withHeartbeats(this.#wanted, now);
    const { fault } = this.#ping;
    return fault === undefined ? node : withReady(node, false, `provider: ${fault}`, now);
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, lease, pingIntervalMs, statusIntervalMs } = this.#settings;
    const period = lease ? statusIntervalMs : pingIntervalMs;
    while (!signal.aborted) {
      const wake = this.#wake;
      await clock.sleep(period, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
      if (!isAborted(signal)) await this.#report(signal);
    }
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { logger, onStatusUpdateError, clock } = this.#settings;
    try {
      this.#take(await updateNodeStatus(this.#nodes, this.#current(), signal));
    } catch (reason) {
      if (signal.aborted) return;
      logger.warn('the node status could not be updated', { err: messageOf(reason) });
      if (onStatusUpdateError) {
        await onStatusUpdateError(reason);
        this.#take(await updateNodeStatus(this.#nodes, this.#current(), signal));
      } else {
        await clock.sleep(1000, signal).catch(() => undefined);
        this.#wake.abort();
      }
    }
  }
}
